†
"serve—
:
xPlaceholder*
dtype0*
shape:
b
yStatefulPartitionedCallx*
Tin
2*
Tout
2*
_XlaMustCompile(*
fR
bodyq
o

body
x
yF
mDepthToSpacex*
T0*

block_size*
data_formatNCHW"
y
m:output:0"*a
serving_defaultN

x
x:0
y
y:0tensorflow/serving/predict