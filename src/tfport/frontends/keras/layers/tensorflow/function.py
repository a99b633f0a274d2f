"""How a function of TensorFlow is declared: `@tf_function("math.add add")`.

Keras 2.4 and later save such a function as a `TFOpLambda` or `SlicingOpLambda` layer, with the arguments
of the call. The parameters are those of the TensorFlow function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tfport.frontends.keras.layer import TF_FUNCTION, layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor

F = TypeVar("F", bound=Callable[..., Any])


def tf_function(names: str) -> Callable[[F], F]:
    """Declare a function by its public names in TensorFlow, separated by spaces."""
    return layer(" ".join(f"{TF_FUNCTION}{name}" for name in names.split()))


def tensors_of(b: LayerBuilder, values: Any) -> list[LayerTensor]:
    """A list of tensors; constants among them get the type of the others."""
    operands = values if isinstance(values, list | tuple) else [values]
    kind = next((x.dtype for x in operands if isinstance(x, LayerTensor)), None)
    return [x if isinstance(x, LayerTensor) else b.constant(x, kind) for x in operands]
