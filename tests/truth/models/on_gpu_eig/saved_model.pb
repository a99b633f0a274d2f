ó
"serveŒ
2
xPlaceholder*
dtype0*
shape
:
/
eEigx"/device:GPU:0*

Tout0*
T0
!
yReale*

Tout0*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict