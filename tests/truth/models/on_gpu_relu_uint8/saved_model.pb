‘
"serveª
2
xPlaceholder*
dtype0*
shape
:
$
cCastx*

DstT0*

SrcT0
$
rReluc"/device:GPU:0*
T0
$
yCastr*

DstT0*

SrcT0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict