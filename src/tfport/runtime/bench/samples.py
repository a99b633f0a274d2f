"""Sample inputs from a signature's types and shapes, for inputs that the caller does not pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import Error
from tfport.graph.dtypes import STRING
from tfport.graph.model import Signature, TensorSpec


def sample_inputs(signature: Signature, batch: int, inputs: dict[str, Any]) -> dict[str, Any]:
    """Return an array for each input: the first row of the given array, repeated, or a generated one."""
    return {
        name: _repeat(inputs[name], batch) if name in inputs else _generate(name, spec, batch)
        for name, spec in signature.inputs.items()
    }


def _repeat(array: Any, batch: int) -> Any:
    array = np.asarray(array)
    return np.repeat(array[:1], batch, axis=0) if array.ndim and len(array) else array


def _generate(name: str, spec: TensorSpec, batch: int) -> Any:
    """Return an array with `batch` rows if the first axis is unknown, and 1 for other unknown axes."""
    if len(spec.tensors) > 1:
        raise Error(f"cannot generate the {spec.form} input `{name}`; pass it with --inputs")
    sizes = [batch if i == 0 else 1 for i in range(len(spec.shape.dims or ()))]
    shape = [default if d is None else d for default, d in zip(sizes, spec.shape.dims or (), strict=True)]
    if spec.dtype == STRING:
        return np.full(shape, b"", object)
    if spec.dtype.is_integer:
        return np.ones(shape, spec.dtype.numpy)
    return np.random.default_rng(0).random(shape).astype(spec.dtype.numpy)
