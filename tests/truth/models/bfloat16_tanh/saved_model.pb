‚
"serve›
2
xPlaceholder*
dtype0*
shape
:
$
bCastx*

DstT0*

SrcT0

tTanhb*
T0
$
yCastt*

DstT0*

SrcT0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict