ë
"serve„
2
xPlaceholder*
dtype0*
shape
:
)
cConst*
dtype0
*
valueB
"

ySelectV2cxx*
T0"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict