ð
"serveõ
2
xPlaceholder*
dtype0*
shape
:
.
sPlaceholder*
dtype0*
shape:
f
yStatefulPartitionedCallxs*
Tin
2*
Tout
2*
_XlaMustCompile(*
fR
body¢
Ÿ

body
x
s
y
eFloors*
T0(
cCaste:y:0*

DstT0*

SrcT0-
mReshapexc:y:0*
Tshape0*
T0"
y
m:output:0"*m
serving_defaultZ

s
s:0

x
x:0
y
y:0tensorflow/serving/predict