"""Models of other frameworks as graphs: what each file means, in TensorFlow ops."""
