À
"serve^
.
xPlaceholder*
dtype0*
shape:
(
yIdentityx"/device:GPU:0*
T0"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict