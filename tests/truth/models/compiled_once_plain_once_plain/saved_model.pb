¹
"serveÒ
2
xPlaceholder*
dtype0*
shape
:
O
plainStatefulPartitionedCallx*
Tin
2*
Tout
2*
fR
body
i
compiledStatefulPartitionedCallx*
Tin
2*
Tout
2*
_XlaMustCompile(*
fR
body

yIdentityplain*
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