ç
"serveö
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
T0I
G

body
x
r#
yNegx"/device:TPU:0*
T0"

ry:y:0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict