õ
"serve„
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
bodyZ
X

body
x
r4
yNegx*
T0*
_output_shapes

:"

ry:y:0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict