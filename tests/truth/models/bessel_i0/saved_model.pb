¹
"serveS
2
xPlaceholder*
dtype0*
shape
:

yBesselI0x*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict