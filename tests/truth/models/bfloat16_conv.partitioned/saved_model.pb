õ
"serveü
:
xPlaceholder*
dtype0*
shape:
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
T0Æ
Ã

body
x
r$
bCastx*

DstT0*

SrcT0J
cConv2Db:y:0b:y:0*
T0*
paddingSAME*
strides
-
yCast
c:output:0*

DstT0*

SrcT0"

ry:y:0"*k
serving_defaultX

x
x:0
answer
answer:0tensorflow/serving/predict