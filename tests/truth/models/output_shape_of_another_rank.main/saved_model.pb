û
"serveŠ
2
xPlaceholder*
dtype0*
shape
:
0
yNegx*
T0*
_output_shapes
:

answerIdentityy*
T0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict