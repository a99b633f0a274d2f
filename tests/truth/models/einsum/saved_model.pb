Ü
"servev
2
xPlaceholder*
dtype0*
shape
:
<
yEinsumxx*
N*
T0*
equation	ij,jk->ik"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict