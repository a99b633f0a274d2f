Û
"serveo
.
xPlaceholder*
dtype0*
shape:

yIdentityx*
T0

answerIdentityy*
T0"*_
serving_defaultL

x
x:0
answer
answer:0tensorflow/serving/predict