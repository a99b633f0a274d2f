"""The graphs of a model as columns, nodes in detail, values of tensors: what a viewer of graphs reads."""
