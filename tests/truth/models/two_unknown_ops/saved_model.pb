Ò
"servel
2
xPlaceholder*
dtype0*
shape
:

aAcmeZipx*
T0

yAcmeZapx*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict