Í
"serveg
2
xPlaceholder*
dtype0*
shape
:
-
yMatrixInversex"/device:GPU:0*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict