Ù
"serveè
2
xPlaceholder*
dtype0*
shape
:

answerIdentityx*
T0
N
callStatefulPartitionedCallx*
Tin
2*
Tout
2*
fR
body>
<

body
x
r
yAcmeZapx*
T0"

ry:y:0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict