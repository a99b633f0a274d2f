"""Inputs made up from a signature's types and shapes, where the caller gives none."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import Error
from tfport.graph.dtypes import STRING
from tfport.graph.model import Signature, TensorSpec


def sample_inputs(signature: Signature, batch: int, inputs: dict[str, Any]) -> dict[str, Any]:
    """An array for each input: what was given, its first row repeated to the batch, or something small."""
    return {
        name: _repeated(inputs[name], batch) if name in inputs else _made_up(name, spec, batch)
        for name, spec in signature.inputs.items()
    }


def _repeated(array: Any, batch: int) -> Any:
    array = np.asarray(array)
    return np.repeat(array[:1], batch, axis=0) if array.ndim and len(array) else array


def _made_up(name: str, spec: TensorSpec, batch: int) -> Any:
    """A number of rows in the first axis where its size is open, one in any other such axis."""
    if len(spec.tensors) > 1:
        raise Error(f"`{name}` is {spec.form}: nothing can be made up for it; give it with --inputs")
    sizes = [batch if i == 0 else 1 for i in range(len(spec.shape.dims or ()))]
    shape = [own if d is None else d for own, d in zip(sizes, spec.shape.dims or (), strict=True)]
    if spec.dtype == STRING:
        return np.full(shape, b"", object)
    if spec.dtype.is_integer:
        return np.ones(shape, spec.dtype.numpy)
    return np.random.default_rng(0).random(shape).astype(spec.dtype.numpy)
