

xPlaceholder*
dtype0

yIdentityx*
T0"