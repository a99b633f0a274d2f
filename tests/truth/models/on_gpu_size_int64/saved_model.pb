Ô
"serven
2
xPlaceholder*
dtype0*
shape
:
4
ySizex"/device:GPU:0*
T0*
out_type0	"*Y
serving_defaultF

x
x:0
y
y:0	tensorflow/serving/predict