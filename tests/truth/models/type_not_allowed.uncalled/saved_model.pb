è
"serveû
2
xPlaceholder*
dtype0*
shape
:

answerIdentityx*
T0D
B

body
x
r
ySoftmaxx*
T0"
ry:softmax:0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict