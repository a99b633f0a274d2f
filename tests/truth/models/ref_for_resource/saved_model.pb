Ž
"serve§
2
xPlaceholder*
dtype0*
shape
:
-
v
VariableV2*
dtype0*
shape:
#
rReadVariableOpv*
dtype0

yIdentityx*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict