‹
"serve–
6
xPlaceholder*
dtype0*
shape:
8
yBatchMatMulV3xx*
Ta0*
Tb0*

Tout0

answerIdentityy*
T0"*g
serving_defaultT

x
x:0
answer
answer:0tensorflow/serving/predict