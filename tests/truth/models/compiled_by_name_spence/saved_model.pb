ž
"serve·
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
T0=
;

body
x
y
mSpencex*
T0"

ym:y:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict