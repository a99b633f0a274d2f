‰
"serve¢
2
xPlaceholder*
dtype0*
shape
:
3
cCastx"/device:GPU:0*

DstT0*

SrcT0
3
yCastc"/device:GPU:0*

DstT0*

SrcT0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict