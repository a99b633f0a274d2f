

xPlaceholder*
dtype0

ÿIdentityx*
T0"