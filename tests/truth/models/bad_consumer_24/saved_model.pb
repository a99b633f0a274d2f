¾
"serveX
2
xPlaceholder*
dtype0*
shape
:

yIdentityx*
T0"ª*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict