"""Give the variables of a model their values from its checkpoint, or say why that is not possible."""
