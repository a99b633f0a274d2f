â
"serveû
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
bodyÜ
Ù

body
x
y&
sShapex*
T0*
out_type0"
tAsString
s:output:0*
T0
lStringLength
t:output:0-
dCast
l:output:0*

DstT0*

SrcT0
mMulxd:y:0*
T0"

ym:z:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict