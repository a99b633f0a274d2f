ú
"serve“
2
xPlaceholder*
dtype0*
shape
:

yNegx*
T0C
A

Neg
x
y
mIdentityx*
T0"
y
m:output:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict