Ð
"servej
2
xPlaceholder*
dtype0*
shape
:
0
yMatMulxx*
T0*
transpose_a
*"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict