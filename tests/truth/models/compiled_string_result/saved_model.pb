ƒ
"serveœ
2
xPlaceholder*
dtype0*
shape
:
c
yStatefulPartitionedCallx*
Tin
2*
Tout
2*
_XlaMustCompile(*
fR
body}
{

body
x
y
s
mNegx*
T0)
cConst*
dtype0*
valueBBa"
s
c:output:0"

ym:y:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict