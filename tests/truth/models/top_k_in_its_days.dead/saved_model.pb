è
"servex
2
xPlaceholder*
dtype0*
shape
:

answerIdentityx*
T0

yTopKx*
T0*
k"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict