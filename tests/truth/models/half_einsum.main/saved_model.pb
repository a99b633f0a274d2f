‡
"serve–
2
xPlaceholder*
dtype0*
shape
:
<
yEinsumxx*
N*
T0*
equation	ij,jk->ik

answerIdentityy*
T0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict