è
"serve®
2
xPlaceholder*
dtype0*
shape
:
#
aExpx"/device:GPU:0*
T0
$
bSqrta"/device:CPU:0*
T0
#
yNegb"/device:GPU:0*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict