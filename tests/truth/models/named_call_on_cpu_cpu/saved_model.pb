Ë
"serveÅ
2
xPlaceholder*
dtype0*
shape
:

cbodyx"/device:CPU:0

yIdentityc*
T0é
ã

body
x
y
sAsStringx*
T0
lStringLength
s:output:0-
mCast
l:output:0*

DstT0*

SrcT0"

ym:y:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict