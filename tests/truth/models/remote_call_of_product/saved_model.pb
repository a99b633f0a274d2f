á
"serveú
2
xPlaceholder*
dtype0*
shape
:
5
tConst*
dtype0*
valueBB/device:GPU:0
A
y
RemoteCalltx*
Tin
2*
Tout
2*
fR
bodyF
D

body
x
y
mMatMulxx*
T0"
ym:product:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict