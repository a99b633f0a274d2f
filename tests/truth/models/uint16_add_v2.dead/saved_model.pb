Û
"serveo
.
xPlaceholder*
dtype0*
shape:

answerIdentityx*
T0

yAddV2xx*
T0"*_
serving_defaultL

x
x:0
answer
answer:0tensorflow/serving/predict