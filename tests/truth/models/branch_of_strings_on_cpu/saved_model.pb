Ù
"serveö
.
xPlaceholder*
dtype0*
shape:
)
kConst*
dtype0
*
valueB
"
z
cIfkx"/device:CPU:0*
Tcond0
*
Tin
2*
Tout
2*
else_branch	R
other*
then_branch	R
taken

yIdentityc*
T0~
=

taken
x
y
mStringLowerx"
y
m:output:0
=

other
x
y
nStringUpperx"
y
n:output:0"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict