œ
"serve§
6
xPlaceholder*
dtype0*
shape:

answerIdentityx*
T0I
G

body
x
r
yBatchCholeskyx*
T0"
r
y:output:0"*g
serving_defaultT

x
x:0
answer
answer:0tensorflow/serving/predict