"""Inputs and outputs of signatures that are several tensors: sparse and ragged ones.

A sparse input is given as `(values, indices, dense_shape)` and comes back so; any other
composite as the tuple of its parts, in the order of the signature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfport.errors import Error
from tfport.graph.model import Signature


def flatten_inputs(signature: Signature, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What is fed for each tensor of the inputs; all that is wrong with them at once."""
    wrong = [f"`{name}` is no input" for name in inputs if name not in signature.inputs]
    feeds: dict[str, Any] = {}
    for name, spec in signature.inputs.items():
        if name in inputs:
            parts = [inputs[name]] if len(spec.tensors) == 1 else list(inputs[name])
            if len(parts) != len(spec.tensors):
                wrong.append(
                    f"`{name}` is {spec.form}, of {len(spec.tensors)} parts; {len(parts)} were given"
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
    """The answers by the names of the signature."""
    found: dict[str, Any] = {}
    at = 0
    for name, spec in signature.outputs.items():
        parts = values[at : at + len(spec.tensors)]
        at += len(spec.tensors)
        found[name] = parts[0] if len(spec.tensors) == 1 else tuple(parts)
    return found
