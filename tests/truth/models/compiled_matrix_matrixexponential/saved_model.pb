Ò
"serveë
2
xPlaceholder*
dtype0*
shape
:
b
yStatefulPartitionedCallx*
Tin
2*
Tout
2*
_XlaMustCompile(*
fR
bodyM
K

body
x
y"
mMatrixExponentialx*
T0"
y
m:output:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict