ö
"serve‡
:
xPlaceholder*
dtype0*
shape:
$
qCastx*

DstT0*

SrcT0
$
bBitcastq*
T0*

type0
S
pMaxPoolb*
T0*
ksize
*
paddingSAME*
strides

$
yBitcastp*
T0*

type0"*a
serving_defaultN

x
x:0
y
y:0tensorflow/serving/predict