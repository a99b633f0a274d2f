ù
"serve–
.
xPlaceholder*
dtype0*
shape:
+
sepConst*
dtype0*
valueBB 
3
yStringSplitV2xsep*
maxsplitÿÿÿÿÿÿÿÿÿ"*U
serving_defaultB

x
x:0
y
y:1tensorflow/serving/predict