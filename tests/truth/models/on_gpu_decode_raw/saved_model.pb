È
"servef
.
xPlaceholder*
dtype0*
shape:
0
y	DecodeRawx"/device:GPU:0*
out_type0"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict