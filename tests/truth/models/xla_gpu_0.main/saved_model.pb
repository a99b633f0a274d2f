Ú
"serveÅ
2
xPlaceholder*
dtype0*
shape
:
'
yNegx"/device:XLA_GPU:0*
T0

answerIdentityy*
T0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict