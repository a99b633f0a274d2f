ž
"serve·
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
2*
_XlaMustCompile(*
fR
body˜
•

body
x
y$
cCastx*

DstT0*

SrcT0!
mAddV2c:y:0c:y:0*
T0(
nCastm:z:0*

DstT0*

SrcT0"

yn:y:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict