ç
"serve€
2
xPlaceholder*
dtype0*
shape
:

yIdentityx*
T0
+
uUnpackx*
T0*
numÿÿÿÿÿÿÿÿÿ"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict