Ž
"serve«
.
xPlaceholder*
dtype0*
shape:
#
aNegx"/device:GPU:0*
T0
(
bAddV2aa"/device:CPU:0*
T0
&
yMulba"/device:GPU:0*
T0"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict