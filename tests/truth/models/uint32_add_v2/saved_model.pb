þ
"serve›
.
xPlaceholder*
dtype0	*
shape:
$
uCastx*

DstT0*

SrcT0	

aAddV2uu*
T0
$
yCasta*

DstT0	*

SrcT0"*U
serving_defaultB

x
x:0	
y
y:0	tensorflow/serving/predict