²
"serve·
.
xPlaceholder*
dtype0*
shape:
7
fileConst*
dtype0*
valueBBwhere/it/was
H
tHashTableV2*
	key_dtype0*
shared_namet*
value_dtype0	

fillInitializeTableFromTextFileV2tfile*
	key_indexþÿÿÿÿÿÿÿÿ*
value_indexÿÿÿÿÿÿÿÿÿ*

vocab_sizeÿÿÿÿÿÿÿÿÿ

initNoOp^fill
0
dConst*
dtype0	*
valueB	"ÿÿÿÿÿÿÿÿ
6
yLookupTableFindV2txd*	
Tin0*

Tout0	""^
saved_model_assetsH*F
D
+type.googleapis.com/tensorflow.AssetFileDef

file:0	words.txt"
saved_model_main_op

init*U
serving_defaultB

x
x:0
y
y:0	tensorflow/serving/predict2

file:0	words.txt