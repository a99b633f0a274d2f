’
"serve¡
2
xPlaceholder*
dtype0*
shape
:
G
yIdentityx",/job:localhost/replica:0/task:0/device:CPU:0*
T0

answerIdentityy*
T0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict