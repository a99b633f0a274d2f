"""Functions of TensorFlow that are nodes of functional models of Keras 2, by family: `tf.math.add`."""
