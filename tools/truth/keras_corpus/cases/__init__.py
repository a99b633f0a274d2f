"""The models to save: `keras1` has those of Keras 1, `keras2` those of Keras 2 and 3."""
