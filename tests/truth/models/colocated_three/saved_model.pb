Ý
"serveö
2
xPlaceholder*
dtype0*
shape
:
#
aExpx"/device:GPU:0*
T0
*
bNega*
T0*
_class

loc:@a
/
sAsStringb*
T0*
_class

loc:@b

lStringLengths
$
yCastl*

DstT0*

SrcT0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict