À
"serveÙ
2
xPlaceholder*
dtype0*
shape
:
@
oOptionalFromValuex"/device:GPU:0*
Toutput_types
2
]
yOptionalGetValueo"/device:CPU:0*
output_shapes

:*
output_types
2"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict