Ù
"servei
2
xPlaceholder*
dtype0*
shape
:

ySoftmaxx

answerIdentityy*
T0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict