—
"serve¦
2
xPlaceholder*
dtype0*
shape
:

answerIdentityx*
T0
L
yStatefulPartitionedCallx*
Tin
2*
Tout
2*
f	R
ghost"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict