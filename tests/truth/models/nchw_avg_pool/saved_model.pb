›
"serve¬
:
xPlaceholder*
dtype0*
shape:
j
yAvgPoolx*
T0*
data_formatNCHW*
ksize
*
paddingSAME*
strides
"*a
serving_defaultN

x
x:0
y
y:0tensorflow/serving/predict