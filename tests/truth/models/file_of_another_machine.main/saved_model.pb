ñ
"serve€
2
xPlaceholder*
dtype0*
shape
:
?
pConst*
dtype0*&
valueBB/nowhere/vocabulary.txt

rReadFilep

nStringLengthr
$
cCastn*

DstT0*

SrcT0

yAddxc*
T0

answerIdentityy*
T0"*c
serving_defaultP

x
x:0
answer
answer:0tensorflow/serving/predict