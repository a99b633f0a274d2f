¸
"serveÑ
2
xPlaceholder*
dtype0*
shape
:
–
yXlaCallModulex*
Sout

:*
Tin
2*
Tout
2*¦
module›˜module @f { func.func public @main(%a: tensor<2x2xf32>) -> tensor<2x2xf32> { %0 = stablehlo.add %a, %a : tensor<2x2xf32> return %0 : tensor<2x2xf32> } }*
	platforms
TPU*
version	"*Y
serving_defaultF

x
x:0
y
y:0tensorflow/serving/predict