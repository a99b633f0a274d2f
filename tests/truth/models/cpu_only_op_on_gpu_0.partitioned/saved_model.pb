®
"serveÁ
.
xPlaceholder*
dtype0*
shape:
N
callStatefulPartitionedCallx*
Tin
2*
Tout
2*
fR
body
!
answerIdentitycall*
T0—
”

body
x
r"
sStringLowerx"/device:GPU:0
lStringLength
s:output:0-
yCast
l:output:0*

DstT0*

SrcT0"

ry:y:0"*_
serving_defaultL

x
x:0
answer
answer:0tensorflow/serving/predict