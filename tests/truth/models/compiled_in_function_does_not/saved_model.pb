·
"serveÐ
2
xPlaceholder*
dtype0*
shape
:
U
yStatefulPartitionedCallx*
Tin
2*
Tout
2*
fR
outer_does_not¾
®


outer_does
x
y
sSpencex*
T0f
cStatefulPartitionedCalls:y:0*
Tin
2*
Tout
2*
_XlaMustCompile(*
fR
good"
y
c:output:0
”

outer_does_not
x
ya
cStatefulPartitionedCallx*
Tin
2*
Tout
2*
_XlaMustCompile(*
fR
bad"
y
c:output:0
8

good
x
y
mNegx*
T0"

ym:y:0
:

bad
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