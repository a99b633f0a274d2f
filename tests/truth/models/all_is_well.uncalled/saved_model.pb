‘
"serve 
2
xPlaceholder*
dtype0*
shape
:

answerIdentityx*
T0F
D

body
x
r
yMatMulxx*
T0"
ry:product:0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict