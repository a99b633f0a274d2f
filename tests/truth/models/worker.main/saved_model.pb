è
"serveû
2
xPlaceholder*
dtype0*
shape
:
D
yIdentityx")/job:worker/replica:0/task:0/device:CPU:0*
T0

answerIdentityy*
T0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict