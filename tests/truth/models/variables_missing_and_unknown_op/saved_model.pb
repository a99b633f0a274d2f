à
"serveN
.
xPlaceholder*
dtype0*
shape:

yAcmeZapx*
T0".
save/file:0save/file:0save/restore_all8*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict