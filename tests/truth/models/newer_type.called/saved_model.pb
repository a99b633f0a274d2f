Ó
"serveâ
2
xPlaceholder*
dtype0*
shape
:

callbodyx
!
answerIdentitycall*
T0t
r

body
x
r$
iCastx*

DstT0*

SrcT0(
yCasti:y:0*

DstT0*

SrcT0"

ry:y:0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict