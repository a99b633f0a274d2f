é
"serveð
:
xPlaceholder*
dtype0*
shape:

answerIdentityx*
T0
$
bCastx*

DstT0*

SrcT0
B
cConv2Dbb*
T0*
paddingSAME*
strides

$
yCastc*

DstT0*

SrcT0"*k
serving_defaultX

x
x:0
answer
answer:0tensorflow/serving/predict