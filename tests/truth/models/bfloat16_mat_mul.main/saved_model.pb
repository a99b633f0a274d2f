±
"serveÀ
2
xPlaceholder*
dtype0*
shape
:
$
bCastx*

DstT0*

SrcT0

mMatMulbb*
T0
$
yCastm*

DstT0*

SrcT0

answerIdentityy*
T0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict