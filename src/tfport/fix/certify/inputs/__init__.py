"""Generate the inputs of trials: what a model does with an input, and values that it accepts."""
