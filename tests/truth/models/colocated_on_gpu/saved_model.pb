ß
"serveü
.
xPlaceholder*
dtype0*
shape:

lStringLengthx
$
fCastl*

DstT0*

SrcT0
#
gNegf"/device:GPU:0*
T0
)
sStringLowerx*
_class

loc:@g

zStringLengths
$
yCastz*

DstT0*

SrcT0"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict