é
"serveú
:
xPlaceholder*
dtype0*
shape:
$
cCastx*

DstT0*

SrcT0
l
rMaxPoolWithArgmaxc"/device:GPU:0*
T0*
ksize
*
paddingSAME*
strides

$
yCastr*

DstT0*

SrcT0"*a
serving_defaultN

x
x:0
y
y:0tensorflow/serving/predict