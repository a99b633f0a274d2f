Ù
"servew
.
xPlaceholder*
dtype0*
shape:
A
yStringLowerx",/job:localhost/replica:0/task:0/device:GPU:0"*U
serving_defaultB

x
x:0
y
y:0tensorflow/serving/predict