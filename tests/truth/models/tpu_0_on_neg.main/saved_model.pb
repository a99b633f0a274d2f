í
"serve}
2
xPlaceholder*
dtype0*
shape
:
#
yNegx"/device:TPU:0*
T0

answerIdentityy*
T0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict