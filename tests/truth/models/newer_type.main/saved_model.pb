•
"serve¤
2
xPlaceholder*
dtype0*
shape
:
$
iCastx*

DstT0*

SrcT0
$
yCasti*

DstT0*

SrcT0

answerIdentityy*
T0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict