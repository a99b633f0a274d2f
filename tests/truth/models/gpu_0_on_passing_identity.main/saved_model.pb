¶
"serveÅ
2
xPlaceholder*
dtype0*
shape
:

aExpx*
T0
(
pIdentitya"/device:GPU:0*
T0

bExpp*
T0

ySqrtb*
T0

answerIdentityy*
T0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict