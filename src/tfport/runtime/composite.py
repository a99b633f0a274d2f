"""Composite inputs and outputs of signatures: sparse and ragged tensors, which are several tensors.

A sparse tensor is the tuple `(values, indices, dense_shape)`; any other composite tensor is the
tuple of its parts, in the order of the signature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfport.errors import Error
from tfport.graph.model import Signature


def flatten_inputs(signature: Signature, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The feeds of a signature's named inputs; Error lists everything that is wrong with them."""
    wrong = [f"`{name}` is not an input" for name in inputs if name not in signature.inputs]
    feeds: dict[str, Any] = {}
    for name, spec in signature.inputs.items():
        if name in inputs:
            parts = [inputs[name]] if len(spec.tensors) == 1 else list(inputs[name])
            if len(parts) != len(spec.tensors):
                wrong.append(
                    f"`{name}` is {spec.form} and must have {len(spec.tensors)} parts, got {len(parts)}"
                )
            feeds.update(zip(spec.tensors, parts, strict=False))
        elif name in signature.defaults:
            feeds[spec.tensors[0]] = signature.defaults[name].numpy()
        else:
            wrong.append(f"`{name}` is missing")
    if wrong:
        expected = ", ".join(f"{n} ({s.dtype} {s.shape})" for n, s in signature.inputs.items()) or "none"
        raise Error(f"signature {signature.name}: {'; '.join(wrong)}; its inputs are {expected}")
    return feeds


def pack_outputs(signature: Signature, values: Sequence[Any]) -> dict[str, Any]:
    """The fetched values by the output names of the signature."""
    outputs: dict[str, Any] = {}
    at = 0
    for name, spec in signature.outputs.items():
        parts = values[at : at + len(spec.tensors)]
        at += len(spec.tensors)
        outputs[name] = parts[0] if len(spec.tensors) == 1 else tuple(parts)
    return outputs
