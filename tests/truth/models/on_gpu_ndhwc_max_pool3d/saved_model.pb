¨
"serveµ
>
xPlaceholder*
dtype0*
shape:
o
y	MaxPool3Dx*
T0*
data_formatNDHWC*
ksize	
*
paddingSAME*
strides	
"*e
serving_defaultR
"
x
x:0
y
y:0tensorflow/serving/predict