Í
"serveÜ
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
T0®
«

body
x
r
aExpx*
T0,
pIdentitya:y:0"/device:GPU:0*
T0
bExp
p:output:0*
T0$
yMulb:y:0
p:output:0*
T0"

ry:z:0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict