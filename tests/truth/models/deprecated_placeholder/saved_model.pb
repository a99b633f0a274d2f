³
"serveQ
0
xPlaceholderV2*
dtype0*
shape:

yIdentityx*
T0"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict