–
"serve¯
2
xPlaceholder*
dtype0*
shape
:
#
aExpx"/device:CPU:0*
T0
9
bNega"/device:GPU:0*
T0*
_class

loc:@a

ySqrtx*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict