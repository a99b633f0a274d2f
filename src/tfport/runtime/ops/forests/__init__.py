"""Decision forests: TensorFlow Decision Forests and Yggdrasil."""
