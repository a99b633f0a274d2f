€
"serve™
2
xPlaceholder*
dtype0*
shape
:

ybodyx*
T0H
F
!
body
x"T
y"T"	
Ttype
mNegx*
TJT"

ym:y:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict