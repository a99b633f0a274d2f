Ó
"serveì
2
xPlaceholder*
dtype0*
shape
:
c
yStatefulPartitionedCallx*
Tin
2*
Tout
2*
_XlaMustCompile(*
f	R
outerÌ
u

outer
x
yK
cStatefulPartitionedCallx*
Tin
2*
Tout
2*
fR
body"
y
c:output:0
S

body
x
y
sAsStringx*
T0
mNegx*
T0"

ym:y:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict