Ò
"serveï
.
xPlaceholder*
dtype0*
shape:
Z
yStatefulPartitionedCallx"/device:GPU:0*
Tin
2*
Tout
2*
fR
body]
[

body
x
y
lStringLowerx
mStringLength
l:output:0"
y
m:output:0"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict