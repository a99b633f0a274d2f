"""StableHLO programs of XlaCallModule nodes as TensorFlow ops, for releases that cannot run them."""
