"""Call a signature: its named inputs to its named outputs, with the names of the tensors looked up once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfport.graph.model import Signature
from tfport.runtime.composite import flatten_inputs, pack_outputs


def signature_call(signature: Signature, run: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A function of the inputs of a signature; `run` takes fetches and feeds, as `Session.run`."""
    fetches = tuple(tensor for spec in signature.outputs.values() for tensor in spec.tensors)
    feeds = [(name, spec.tensors[0]) for name, spec in signature.inputs.items()]
    specs = (*signature.inputs.values(), *signature.outputs.values())
    is_plain = all(len(spec.tensors) == 1 for spec in specs)
    names = list(signature.outputs)

    def call(inputs: Mapping[str, Any]) -> dict[str, Any]:
        return pack_outputs(signature, run(fetches, flatten_inputs(signature, inputs), **options))

    def call_plain(inputs: Mapping[str, Any]) -> dict[str, Any]:
        if len(inputs) != len(feeds) or any(name not in inputs for name, _ in feeds):
            return call(inputs)
        values = run(fetches, {tensor: inputs[name] for name, tensor in feeds}, **options)
        return dict(zip(names, values, strict=True))

    chosen = call_plain if is_plain else call
    return lambda **inputs: chosen(inputs)
