Ð
"serveé
2
xPlaceholder*
dtype0*
shape
:
L
aStatefulPartitionedCallx*
Tin
2*
Tout
2*
f	R
first
M
yStatefulPartitionedCalla*
Tin
2*
Tout
2*
f
R
second‘
O

first
x
y%
mIdentityx*
T0*

acme"
y
m:output:0
>

second
x
y
mAcmeZapx*
T0"

ym:y:0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict