³
"serveQ
.
xPlaceholder*
dtype0*
shape:

yStringLowerx"/gpu:0"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict