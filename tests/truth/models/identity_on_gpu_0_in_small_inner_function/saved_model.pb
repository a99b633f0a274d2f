¯
"serveë
2
xPlaceholder*
dtype0*
shape
:
O
callStatefulPartitionedCallx*
Tin
2*
Tout
2*
f	R
outer

yIdentitycall*
T0Á
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
R

inner
x
y(
iIdentityx"/device:GPU:0*
T0"
y
i:output:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict