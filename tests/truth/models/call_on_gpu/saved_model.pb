Á
"serveÚ
2
xPlaceholder*
dtype0*
shape
:
Z
yStatefulPartitionedCallx"/device:GPU:0*
Tin
2*
Tout
2*
fR
bodyD
B

body
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