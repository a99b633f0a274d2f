Ž
"serve«
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
9
yNegf"/device:GPU:0*
T0*
_class

loc:@s"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict