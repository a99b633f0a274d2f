ç
"serve€
2
xPlaceholder*
dtype0*
shape
:
F
yRandomShufflex"/device:GPU:0*
T0*
seed2*

seed"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict