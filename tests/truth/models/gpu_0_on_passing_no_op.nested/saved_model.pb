©
"serve∏
2
xPlaceholder*
dtype0*
shape
:
O
callStatefulPartitionedCallx*
Tin
2*
Tout
2*
f	R
outer
!
answerIdentitycall*
T0â
u

outer
x
rK
yStatefulPartitionedCallx*
Tin
2*
Tout
2*
fR
body"
r
y:output:0
è

body
x
r
aExpx*
T0
nNoOp^a"/device:GPU:0
bExpa:y:0^n*
T0
ySqrtb:y:0*
T0"

ry:y:0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict