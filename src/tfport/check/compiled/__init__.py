"""Functions that XLA must compile (`tf.function(jit_compile=True)`): which they are, and what it compiles."""
