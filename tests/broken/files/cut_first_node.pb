

xPlaceholder*