ì
"serve…
2
xPlaceholder*
dtype0*
shape
:
)
kConst*
dtype0
*
valueB
"
n
callIfkx*
Tcond0
*
Tin
2*
Tout
2*
else_branch	R
other*
then_branch	R
taken

yIdentitycall*
T0‘
T

taken
x
y)
mMatMulxx"/device:GPU:0*
T0"
ym:product:0
9

other
x
y
nNegx*
T0"

yn:y:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict