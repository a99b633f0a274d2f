ù
"serve’
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
bodyt
r

body
x
y$
cCastx*

DstT0*

SrcT0(
dCastc:y:0*

DstT0*

SrcT0"

yd:y:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict