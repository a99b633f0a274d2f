"""Models of Yggdrasil Decision Forests, as TensorFlow Decision Forests has them in its assets."""
