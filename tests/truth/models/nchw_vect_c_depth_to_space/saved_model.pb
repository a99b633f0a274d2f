†
"serve“
>
xPlaceholder*
dtype0*
shape:
M
yDepthToSpacex*
T0*

block_size*
data_formatNCHW_VECT_C"*e
serving_defaultR
"
x
x:0
y
y:0tensorflow/serving/predict