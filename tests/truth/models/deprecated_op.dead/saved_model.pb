ð
"serve|
6
xPlaceholder*
dtype0*
shape:

answerIdentityx*
T0

yBatchCholeskyx*
T0"*g
serving_defaultT

x
x:0
answer
answer:0tensorflow/serving/predict