¯
"serveM
.
xPlaceholder*
dtype0*
shape:

yAddxx*
T0"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict