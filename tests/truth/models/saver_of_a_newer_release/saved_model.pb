Ã
"serveÜ
2
xPlaceholder*
dtype0*
shape
:

yIdentityx*
T0
9
save/filenameConst*
dtype0*
valueB	Bmodel
L
save/is_remoteStaticRegexFullMatchsave/filename*
pattern
^s3://.*"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict