
"serveç
.
xPlaceholder*
dtype0*
shape:
5
tConst*
dtype0*
valueBB/device:GPU:0
A
y
RemoteCalltx*
Tin
2*
Tout
2*
fR
body]
[

body
x
y
lStringLowerx
mStringLength
l:output:0"
y
m:output:0"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict