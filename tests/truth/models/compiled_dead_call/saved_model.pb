Ä
"serveÝ
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
outer½
~

outer
x
yC
cPartitionedCallx*
Tin
2*
Tout
2*
fR
body
mNegx*
T0"

ym:y:0
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