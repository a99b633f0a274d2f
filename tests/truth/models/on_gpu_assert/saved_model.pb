¨
"serveÁ
2
xPlaceholder*
dtype0*
shape
:
)
tConst*
dtype0
*
valueB
"
=
aAsserttx"/device:GPU:0*

T
2*
	summarize

yIdentityx^a*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict