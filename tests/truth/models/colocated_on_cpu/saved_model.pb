ð
"serve‰
2
xPlaceholder*
dtype0*
shape
:
#
aExpx"/device:CPU:0*
T0
*
yNega*
T0*
_class

loc:@a"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict