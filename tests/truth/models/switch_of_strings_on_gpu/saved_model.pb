½
"serveÚ
.
xPlaceholder*
dtype0*
shape:
)
kConst*
dtype0
*
valueB
"
)
sSwitchxk"/device:GPU:0*
T0
3
mMergess:1"/device:GPU:0*
N*
T0

yIdentitym*
T0"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict