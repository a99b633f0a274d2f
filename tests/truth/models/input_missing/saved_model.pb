¹
"serveS
2
zPlaceholder*
dtype0*
shape
:

yIdentityz*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict