Ñ
"serveS
2
xPlaceholder*
dtype0*
shape
:

yIdentityx*
T0"*q
serving_default^

x
x:0
x
x:0
y
y:0tensorflow/serving/predict