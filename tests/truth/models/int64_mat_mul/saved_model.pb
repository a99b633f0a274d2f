º
"serveT
2
xPlaceholder*
dtype0	*
shape
:

yMatMulxx*
T0	"*Y
serving_defaultF

x
x:0	
y
y:0	tensorflow/serving/predict