“
"serve¬
2
xPlaceholder*
dtype0*
shape
:
K
yStatefulPartitionedCallx*
Tin
2*
Tout
2*
fR
body¤
¡

body
x
y#
aExpx"/device:CPU:0*
T0=
bNega:y:0"/device:GPU:0*
T0*
_class

loc:@a
cSqrtb:y:0*
T0"

yc:y:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict