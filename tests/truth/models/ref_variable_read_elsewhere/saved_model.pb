Ð
"serveé
2
xPlaceholder*
dtype0*
shape
:
@
v
VariableV2"/device:CPU:0*
dtype0*
shape
:
R
aAssignvx"/device:GPU:0*
T0*
use_locking(*
validate_shape(

yIdentitya*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict