ê
"serveŒ
2
xPlaceholder*
dtype0*
shape
:
7
fileConst*
dtype0*
valueBBwhere/it/was

yIdentityx*
T0""^
saved_model_assetsH*F
D
+type.googleapis.com/tensorflow.AssetFileDef

file:0	words.txt*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict2

file:0	words.txt