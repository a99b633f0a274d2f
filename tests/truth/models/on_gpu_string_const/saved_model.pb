¶
"serveÏ
2
xPlaceholder*
dtype0*
shape
:
>
sConst"/device:GPU:0*
dtype0*
valueBBa

lStringLengths
$
cCastl*

DstT0*

SrcT0

yAddV2xc*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict