™
"serve²
2
xPlaceholder*
dtype0*
shape
:

iExpx*
T0
O
callStatefulPartitionedCalli*
Tin
2*
Tout
2*
f	R
outer

yIdentitycall*
T0ò
´

outer
x
yL
cStatefulPartitionedCallx*
Tin
2*
Tout
2*
f	R
inner;
mMatMul
c:output:0
c:output:0"/device:GPU:0*
T0"
ym:product:0
9

inner
x
y
nNegx*
T0"

yn:y:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict