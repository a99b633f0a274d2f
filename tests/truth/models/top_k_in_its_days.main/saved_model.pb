è
"servex
2
xPlaceholder*
dtype0*
shape
:

yTopKx*
T0*
k

answerIdentityy*
T0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict