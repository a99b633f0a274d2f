¿
"serveÜ
.
xPlaceholder*
dtype0*
shape:
i
yStatefulPartitionedCallx*
Tin
2*
Tout
2*
_XlaMustCompile(*
fR
body_Uniqueº
Q

body_Unique
x
y&
vUniquex*
T0*
out_idx0"

yv:y:0
e
%
body_UniqueWithCounts
x
y0
vUniqueWithCountsx*
T0*
out_idx0"

yv:y:0"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict