›
"serve´
2
xPlaceholder*
dtype0*
shape
:
#
cbodyx*
_XlaMustCompile(

yIdentityc*
T0:
8

body
x
y
mNegx*
T0"

ym:y:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict