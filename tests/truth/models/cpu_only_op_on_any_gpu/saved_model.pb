º
"serveX
.
xPlaceholder*
dtype0*
shape:
"
yStringLowerx"/device:GPU:*"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict