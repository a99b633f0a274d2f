è
"serve®
2
xPlaceholder*
dtype0*
shape
:
/
sConst*
dtype0*
valueBBprinted

pPrintV2s"/device:GPU:0

yIdentityx^p*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict