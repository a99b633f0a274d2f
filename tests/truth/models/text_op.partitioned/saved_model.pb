ô
"serve‡
.
xPlaceholder*
dtype0*
shape:
N
callStatefulPartitionedCallx*
Tin
2*
Tout
2*
fR
body
!
answerIdentitycall*
T0^
\

body
x
r3
yNormalizeUTF8x*
normalization_formNFKC"
r
y:output:0"*_
serving_defaultL

x
x:0
answer
answer:0tensorflow/serving/predict