·
"serveÐ
2
xPlaceholder*
dtype0*
shape
:
Z
yPartitionedCallx*
Tin
2*
Tout
2*
_XlaMustCompile(*
fR
body:
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