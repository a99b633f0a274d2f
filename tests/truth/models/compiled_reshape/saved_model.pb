¨
"serve­
2
xPlaceholder*
dtype0*
shape
:
.
sPlaceholder*
dtype0*
shape:
f
yStatefulPartitionedCallxs*
Tin
2*
Tout
2*
_XlaMustCompile(*
fR
body[
Y

body
x
s
y)
mReshapexs*
Tshape0*
T0"
y
m:output:0"*m
serving_defaultZ

s
s:0

x
x:0
y
y:0tensorflow/serving/predict