¥
"serve´
2
xPlaceholder*
dtype0*
shape
:

callbodyx
!
answerIdentitycall*
T0F
D

body
x
r 
yNegx*
T0*

acme"

ry:y:0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict