ö
"serve‰
.
xPlaceholder*
dtype0*
shape:
3
yNormalizeUTF8x*
normalization_formNFKC

answerIdentityy*
T0"*_
serving_defaultL

x
x:0
answer
answer:0tensorflow/serving/predict