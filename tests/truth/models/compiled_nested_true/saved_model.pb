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
Œ

outer
x
yb
cStatefulPartitionedCallx*
Tin
2*
Tout
2*
_XlaMustCompile(*
fR
body"
y
c:output:0
;

body
x
y
mSpencex*
T0"

ym:y:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict