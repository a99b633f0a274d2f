±
"serveÊ
2
xPlaceholder*
dtype0*
shape
:
L
yStatefulPartitionedCallx*
Tin
2*
Tout
2*
f	R
outerÁ
1

outer
x
y
cbodyx"

yc:y:0
‹
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