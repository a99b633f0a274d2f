"""The models of Keras 2 and 3, by family."""

from . import (  # noqa: F401
    activations,
    attention,
    convolution,
    core,
    image,
    lookup,
    merging,
    models,
    normalization,
    operators,
    pooling,
    precision,
    recurrent,
    regularization,
    reshaping,
)
