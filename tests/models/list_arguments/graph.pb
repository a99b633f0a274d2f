
7
aPlaceholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
,
bPlaceholder*
dtype0*
shape:
A
y
Interleaveaaba:0*
N*
Textra
2*
T0

textIdentityy:1*
T0”
‘
z

Interleave
parts"T*N
extra2Textra
stacked"T
again2Textra"
Nint(0"	
Ttype"
Textra
list(type)3
packPackparts*
NJN*
TJT*

axis.
same	IdentityNextra^pack*
TJTextra"
againsame:output"
stackedpack:output:0"ª