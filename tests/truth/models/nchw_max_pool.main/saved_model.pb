Å
"serveÌ
:
xPlaceholder*
dtype0*
shape:
j
yMaxPoolx*
T0*
data_formatNCHW*
ksize
*
paddingSAME*
strides


answerIdentityy*
T0"*k
serving_defaultX

x
x:0
answer
answer:0tensorflow/serving/predict