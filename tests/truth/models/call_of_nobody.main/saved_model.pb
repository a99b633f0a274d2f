—
"serve¦
2
xPlaceholder*
dtype0*
shape
:
L
yStatefulPartitionedCallx*
Tin
2*
Tout
2*
f	R
ghost

answerIdentityy*
T0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict