"""tf.data: datasets and iterators."""
