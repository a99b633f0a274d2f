‡
"serve 
2
xPlaceholder*
dtype0*
shape
:
'
cComplexxx*

Tout0*
T0

mMatMulcc*
T0
!
yRealm*

Tout0*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict