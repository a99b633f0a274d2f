¬
"serve³
:
xPlaceholder*
dtype0*
shape:

answerIdentityx*
T0
Q
yMaxPoolx*
T0*
ksize
*
paddingSAME*
strides
"*k
serving_defaultX

x
x:0
answer
answer:0tensorflow/serving/predict