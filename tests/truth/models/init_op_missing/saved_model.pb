Û
"serveS
2
xPlaceholder*
dtype0*
shape
:

yIdentityx*
T0"" 
saved_model_main_op	

ghost*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict