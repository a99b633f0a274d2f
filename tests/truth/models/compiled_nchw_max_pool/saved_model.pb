¬
"serve½
:
xPlaceholder*
dtype0*
shape:
b
yStatefulPartitionedCallx*
Tin
2*
Tout
2*
_XlaMustCompile(*
fR
body–
“

body
x
yj
mMaxPoolx*
T0*
data_formatNCHW*
ksize
*
paddingSAME*
strides
"
y
m:output:0"*a
serving_defaultN

x
x:0
y
y:0tensorflow/serving/predict