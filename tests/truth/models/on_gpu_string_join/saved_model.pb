Å
"servec
.
xPlaceholder*
dtype0*
shape:
-
y
StringJoinxx"/device:GPU:0*
N"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict