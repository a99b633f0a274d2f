›
"serve¢
:
xPlaceholder*
dtype0*
shape:
N
callStatefulPartitionedCallx*
Tin
2*
Tout
2*
fR
body
!
answerIdentitycall*
T0m
k

body
x
rB
yConv2Dxx*
T0*
paddingSAME*
strides
"
r
y:output:0"*k
serving_defaultX

x
x:0
answer
answer:0tensorflow/serving/predict