ç
"serveø
:
xPlaceholder*
dtype0*
shape:
$
cCastx*

DstT0*

SrcT0
j
rMaxPoolc*
T0*
data_formatNHWC*
ksize
*
paddingSAME*
strides

$
yCastr*

DstT0*

SrcT0"*a
serving_defaultN

x
x:0
y
y:0tensorflow/serving/predict