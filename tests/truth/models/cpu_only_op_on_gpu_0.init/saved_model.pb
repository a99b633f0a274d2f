¦
"serve˜
.
xPlaceholder*
dtype0*
shape:

answerIdentityx*
T0
4
init/xConst*
dtype0*
valueBBa
X
	init/callStatefulPartitionedCallinit/x*
Tin
2*
Tout
2*
fR
body

initNoOp
^init/call—
”

body
x
r"
sStringLowerx"/device:GPU:0
lStringLength
s:output:0-
yCast
l:output:0*

DstT0*

SrcT0"

ry:y:0""
saved_model_main_op

init*_
serving_defaultL

x
x:0
answer
answer:0tensorflow/serving/predict