Ð
"servej
2
xPlaceholder*
dtype0*
shape
:
0
ySelfAdjointEigV2x"/device:GPU:0*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict