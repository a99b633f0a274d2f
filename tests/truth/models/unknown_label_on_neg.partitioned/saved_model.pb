í
"serveü
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
T0O
M

body
x
r)
yNegx*
T0*
_kernelnobody"

ry:y:0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict