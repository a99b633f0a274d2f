ş
"serve
2
xPlaceholder*
dtype0*
shape
:
3
yIdentityx*
T0*
_class

loc:@ghost

answerIdentityy*
T0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict