²
"serveË
2
xPlaceholder*
dtype0*
shape
:

yIdentityx*
T0v
t

body
x
yK
mStatefulPartitionedCallx*
Tin
2*
Tout
2*
fR
body"
y
m:output:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict