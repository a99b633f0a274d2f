Å
"servec
.
xPlaceholder*
dtype0*
shape:
-
yStaticRegexFullMatchx*
pattern.*"*U
serving_defaultB

x
x:0
y
y:0
tensorflow/serving/predict