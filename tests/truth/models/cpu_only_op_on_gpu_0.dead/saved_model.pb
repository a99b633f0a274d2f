¡
"serve´
.
xPlaceholder*
dtype0*
shape:

answerIdentityx*
T0
"
sStringLowerx"/device:GPU:0

lStringLengths
$
yCastl*

DstT0*

SrcT0"*_
serving_defaultL

x
x:0
answer
answer:0tensorflow/serving/predict