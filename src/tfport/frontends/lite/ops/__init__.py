"""How the operators of TensorFlow Lite are built, one file for each family."""
