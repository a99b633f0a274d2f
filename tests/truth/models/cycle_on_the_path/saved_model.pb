î
"serve‡
2
xPlaceholder*
dtype0*
shape
:

aAddxb*
T0

bIdentitya*
T0

yIdentityb*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict