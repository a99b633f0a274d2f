Ä
"serve^
2
xPlaceholder*
dtype0*
shape
:
$
ySoftmaxx*
T0*

acme"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict