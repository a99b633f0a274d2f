Ë
"serveè
.
xPlaceholder*
dtype0*
shape:
H
tHashTableV2*
	key_dtype0*
shared_namet*
value_dtype0	
0
dConst*
dtype0	*
valueB	"ÿÿÿÿÿÿÿÿ
6
yLookupTableFindV2txd*	
Tin0*

Tout0	"*U
serving_defaultB

x
x:0
y
y:0	tensorflow/serving/predict