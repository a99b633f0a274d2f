Ë
"serveÅ
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
bodyc
a

body
x
y#
mNegx"/device:GPU:0*
T0
eExpm:y:0*
T0"

ye:y:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict