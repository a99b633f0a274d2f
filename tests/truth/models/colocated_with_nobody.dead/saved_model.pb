ş
"serve
2
xPlaceholder*
dtype0*
shape
:

answerIdentityx*
T0
3
yIdentityx*
T0*
_class

loc:@ghost"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict