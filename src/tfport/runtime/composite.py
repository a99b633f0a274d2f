"""Call a signature: its named inputs to its named outputs, also sparse and ragged tensors.

A sparse tensor is the tuple `(values, indices, dense_shape)`; any other composite tensor is the tuple of its
parts, in the order of the signature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from tfport.errors import Error, RunFailed
from tfport.graph.model import Signature, TensorSpec

MOST_LISTED = 4
"""Inputs, and outputs, in the repr of a signature."""


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


def signature_call(signature: Signature, run: Callable[..., Any], **options: Any) -> SignatureCall:
    """A function of the inputs of a signature; `run` takes fetches and feeds, as `Session.run`."""
    fetches = tuple(tensor for spec in signature.outputs.values() for tensor in spec.tensors)
    feeds = [(name, spec.tensors[0]) for name, spec in signature.inputs.items()]
    specs = (*signature.inputs.values(), *signature.outputs.values())
    is_plain = all(len(spec.tensors) == 1 for spec in specs)
    names = list(signature.outputs)

    def call(inputs: Mapping[str, Any]) -> dict[str, Any]:
        return pack_outputs(signature, run(fetches, flatten_inputs(signature, inputs), **options))

    def call_plain(inputs: Mapping[str, Any]) -> dict[str, Any]:
        """As `call`, where a microsecond counts: small models take ten."""
        if len(inputs) != len(feeds):
            return call(inputs)
        fed = {}
        for name, tensor in feeds:
            if name not in inputs:
                return call(inputs)
            fed[tensor] = inputs[name]
        values = run(fetches, fed, **options)
        return {names[0]: values[0]} if len(names) == 1 else dict(zip(names, values, strict=True))

    return SignatureCall(signature, call_plain if is_plain else call)


class SignatureCall:
    """Calls a signature, with inputs in its order or by name."""

    def __init__(self, signature: Signature, call: Callable[[Mapping[str, Any]], dict[str, Any]]) -> None:
        self._signature, self._call = signature, call
        self.__name__ = self.__qualname__ = signature.name
        self.__doc__ = _described(signature)

    @property
    def inputs(self) -> Mapping[str, TensorSpec]:
        """The inputs' dtypes and shapes by name, in the order of the model."""
        return self._signature.inputs

    @property
    def outputs(self) -> Mapping[str, TensorSpec]:
        """The outputs' dtypes and shapes by name."""
        return self._signature.outputs

    def __call__(self, /, *values: Any, **inputs: Any) -> dict[str, Any]:
        try:
            return self._call(_named(self._signature, values, inputs) if values else inputs)
        except RunFailed as error:
            raise _naming_the_input(error, self._signature) from None

    def __repr__(self) -> str:
        inputs, outputs = _listed(self._signature.inputs), _listed(self._signature.outputs)
        return f"<Signature {self._signature.name}: {inputs} -> {outputs}>"


def _named(signature: Signature, values: Sequence[Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs that were given in order, and the others."""
    names = list(signature.inputs)
    if len(values) > len(names):
        expected = f"{len(names)}: {', '.join(names)}" if names else "none"
        raise Error(f"{len(values)} inputs of signature {signature.name}; expected {expected}")
    named = dict(zip(names, values, strict=False))
    if twice := [name for name in named if name in inputs]:
        raise Error(f"input `{twice[0]}` of signature {signature.name} was given twice")
    return {**named, **inputs}


def _naming_the_input(error: RunFailed, signature: Signature) -> RunFailed:
    """An error about a tensor that was fed, with the name of the input instead of the tensor's."""
    text = str(error)
    for name, spec in signature.inputs.items():
        begin = f"`{spec.tensors[0]}` "
        if len(spec.tensors) == 1 and text.startswith(begin):
            return RunFailed(f"input `{name}` {text.removeprefix(begin)}")
    return error


def _described(signature: Signature) -> str:
    """The inputs and outputs of a signature, a line each."""
    inputs = "\n".join(f"    {name}: {spec}" for name, spec in signature.inputs.items())
    outputs = "\n".join(f"    {name}: {spec}" for name, spec in signature.outputs.items())
    return f"Run the signature {signature.name}.\n\nInputs:\n{inputs}\n\nOutputs:\n{outputs}\n"


def _listed(specs: Mapping[str, TensorSpec]) -> str:
    """The first inputs or outputs of a signature, in a line."""
    first = [f"{name}: {spec}" for name, spec in islice(specs.items(), MOST_LISTED)]
    more = [f"{len(specs) - len(first)} more"] if len(specs) > len(first) else []
    return ", ".join(first + more) or "none"
