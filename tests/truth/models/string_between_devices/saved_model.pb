ƒ
"serve 
.
xPlaceholder*
dtype0*
shape:
5
sShapex"/device:GPU:0*
T0*
out_type0
3
yCasts"/device:GPU:0*

DstT0*

SrcT0"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict