Ñ
"serveê
2
xPlaceholder*
dtype0*
shape
:
q
yStatefulPartitionedCallx"/device:CPU:0*
Tin
2*
Tout
2*
_XlaMustCompile(*
fR
body=
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