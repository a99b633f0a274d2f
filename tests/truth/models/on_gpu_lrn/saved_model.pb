Ó
"servee
:
xPlaceholder*
dtype0*
shape:
#
yLRNx"/device:GPU:0*
T0"*a
serving_defaultN

x
x:0
y
y:0tensorflow/serving/predict