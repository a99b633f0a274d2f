æ
"serveX
2
xPlaceholder*
dtype0*
shape
:

yIdentityx*
T0"üç*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict