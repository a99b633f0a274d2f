÷
"serve†
2
xPlaceholder*
dtype0*
shape
:

answerIdentityx*
T0
N
callStatefulPartitionedCallx*
Tin
2*
Tout
2*
fR
body\
Z

body
x
r0
yMatMulxx*
T0*
transpose_ayes"
ry:product:0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict