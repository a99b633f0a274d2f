ú
"serve“
2
xPlaceholder*
dtype0*
shape
:

iExpx*
T0
N
callStatefulPartitionedCalli*
Tin
2*
Tout
2*
fR
body

yIdentitycall*
T0U
S

body
x
y)
mMatMulxx"/device:GPU:0*
T0"
ym:product:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict