¬
"serve³
:
xPlaceholder*
dtype0*
shape:
Q
yMaxPoolx*
T0*
ksize
*
paddingSAME*
strides


answerIdentityy*
T0"*k
serving_defaultX

x
x:0
answer
answer:0tensorflow/serving/predict