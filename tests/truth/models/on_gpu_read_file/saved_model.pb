’
"serve«
2
xPlaceholder*
dtype0*
shape
:
5
fConst*
dtype0*
valueBB/no/such/file

rReadFilef"/device:GPU:0

yIdentityx*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict