ê
"serve©
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
T0È
ê
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
inner
nNeg
c:output:0*
T0"

yn:y:0
T

inner
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