Õ
"serveè
.
xPlaceholder*
dtype0*
shape:
N
callStatefulPartitionedCallx*
Tin
2*
Tout
2*
fR
body
!
answerIdentitycall*
T0?
=

body
x
r
yAddV2xx*
T0"

ry:z:0"*_
serving_defaultL

x
x:0
answer
answer:0tensorflow/serving/predict