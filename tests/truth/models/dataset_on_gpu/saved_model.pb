˜
"serve±
2
xPlaceholder*
dtype0*
shape
:
\
dTensorSliceDatasetx"/device:GPU:0*
Toutput_types
2*
output_shapes
:

yIdentityx*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict