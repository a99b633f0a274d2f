Ý
"servew
2
xPlaceholder*
dtype0*
shape
:
=
yCheckNumericsx"/device:GPU:0*
T0*
messagem"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict