Æ
"serve\
6
xPlaceholder*
dtype0*
shape:

yBatchCholeskyx*
T0"*]
serving_defaultJ

x
x:0
y
y:0tensorflow/serving/predict