“
"serve¢
2
xPlaceholder*
dtype0*
shape
:

answerIdentityx*
T0H
F

body
x
r
yIdentityghost*
T0"
r
y:output:0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict