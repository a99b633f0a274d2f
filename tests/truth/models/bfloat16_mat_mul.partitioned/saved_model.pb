¾
"serveÍ
2
xPlaceholder*
dtype0*
shape
:
N
callStatefulPartitionedCallx*
Tin
2*
Tout
2*
fR
body
!
answerIdentitycall*
T0Ÿ
œ

body
x
r$
bCastx*

DstT0*

SrcT0"
mMatMulb:y:0b:y:0*
T0.
yCastm:product:0*

DstT0*

SrcT0"

ry:y:0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict