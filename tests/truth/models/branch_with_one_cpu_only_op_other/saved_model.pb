ü
"serve•
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
€
yStatelessIfkx*
Tcond0
*
Tin
2*
Tout
2*
else_branchR
other_other*
then_branchR
taken_other¬
’

taken_taken
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

ym:y:0
?

other_taken
x
y
nNegx*
T0"

yn:y:0
?

taken_other
x
y
nNegx*
T0"

yn:y:0
’

other_other
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