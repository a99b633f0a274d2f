™
"serve²
2
xPlaceholder*
dtype0*
shape
:
B
vVarHandleOp*
dtype0*
shape:*
shared_namev

iIdentityv*
T0

yIdentityx*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict