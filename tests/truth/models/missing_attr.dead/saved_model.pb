â
"server
2
xPlaceholder*
dtype0*
shape
:

answerIdentityx*
T0

yCastx*

SrcT0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict