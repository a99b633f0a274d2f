Á
"serveS
2
xPlaceholder*
dtype0*
shape
:

yIdentityx*
T0"*a
serving_defaultN

x
x:0
ghost
ghost:0tensorflow/serving/predict