¹
"serveÈ
2
xPlaceholder*
dtype0*
shape
:

callbodyx
!
answerIdentitycall*
T0Z
X

body
x
r4
yNegx*
T0*
_output_shapes

:"

ry:y:0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict