»
"serveØ
.
xPlaceholder*
dtype0*
shape:
b
yStatefulPartitionedCallx*
Tin
2*
Tout
2*
_XlaMustCompile(*
fR
body>
<

body
x
y
mStringLowerx"
y
m:output:0"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict