î
"serveý
2
xPlaceholder*
dtype0*
shape
:
N
callStatefulPartitionedCallx*
Tin
2*
Tout
2*
fR
body
!
answerIdentitycall*
T0P
N

body
x
r%
yIdentityx*
T0*

acme"
r
y:output:0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict