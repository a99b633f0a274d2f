ÿ
"serveœ
.
xPlaceholder*
dtype0*
shape:

sStringLengthx
$
fCasts*

DstT0*

SrcT0
*
yNegf*
T0*
_class

loc:@s"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict