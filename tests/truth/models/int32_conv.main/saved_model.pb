ù
"serve§
:
xPlaceholder*
dtype0*
shape:
B
yConv2Dxx*
T0*
paddingSAME*
strides


answerIdentityy*
T0"*k
serving_defaultX

x
x:0
answer
answer:0tensorflow/serving/predict