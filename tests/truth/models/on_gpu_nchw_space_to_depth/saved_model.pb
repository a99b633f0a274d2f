÷
"serveˆ
:
xPlaceholder*
dtype0*
shape:
F
ySpaceToDepthx*
T0*

block_size*
data_formatNCHW"*a
serving_defaultN

x
x:0
y
y:0tensorflow/serving/predict