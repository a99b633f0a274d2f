î
"serve~
2
xPlaceholder*
dtype0*
shape
:

answerIdentityx*
T0
$
yIdentityx"	somewhere*
T0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict