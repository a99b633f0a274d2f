"""How a function of TensorFlow is declared: `@tf_function("math.add add")`.

Keras 2.4 and later save such a function as a `TFOpLambda` or `SlicingOpLambda` layer, with the arguments
of the call. The parameters are those of the TensorFlow function. A function that is nothing else than an
op is declared by `op_function`: its parameters are the inputs of the op, then its attributes, those
without a default first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tfport.frontends.keras.layer import TF_FUNCTION, layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.op_signature import OpSignature

F = TypeVar("F", bound=Callable[..., Any])


def tf_function(names: str) -> Callable[[F], F]:
    """Declare a function by its public names in TensorFlow, separated by spaces."""
    return layer(" ".join(f"{TF_FUNCTION}{name}" for name in names.split()))


def op_function(op: str) -> Callable[..., Any]:
    """The function that adds a node of an op, and returns its output or a list of its outputs."""
    return lambda b, *args: _call(b, op, args, b.keywords)


def _call(b: LayerBuilder, op: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    signature = b.graph.signature_of(op)
    if signature is None:
        raise b.refuse(f"it computes the op `{op}`, which tfport does not build")
    names = _parameters(signature)
    if len(args) > len(names):
        raise b.refuse(f"it calls `{op}` with {len(args)} arguments; expected at most {len(names)}")
    passed = dict(zip(names, args, strict=False))
    for name, value in keywords.items():
        if name in names:
            passed[name] = value
        elif name != "name" and value is not None:
            raise b.refuse(f"the argument `{name}` of its call is unknown")
    inputs = [arg.name for arg in signature.inputs]
    if missing := [name for name in inputs if passed.get(name) is None]:
        raise b.refuse(f"the argument `{missing[0]}` of its call is missing")
    attrs = {name: value for name, value in passed.items() if name not in inputs and value is not None}
    return add_op(b, signature, [passed[name] for name in inputs], attrs)


def _parameters(signature: OpSignature) -> list[str]:
    """The names of the inputs and of the attributes that do not follow from the inputs."""
    followed = {name for arg in signature.inputs for name in (arg.type_attr, arg.number_attr, arg.list_attr)}
    attrs = [name for name in signature.attr_types if name not in followed]
    attrs.sort(key=signature.defaults.__contains__)
    return [*(arg.name for arg in signature.inputs), *attrs]


def add_op(b: LayerBuilder, signature: OpSignature, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Add a node with its inputs by argument; attributes with their default are left out."""
    known, defaults = signature.attr_types, signature.defaults
    stated = {n: v for n, v in attrs.items() if n in known and (n not in defaults or v != defaults[n])}
    outputs = b.results(b.node(signature.name, *inputs, **stated))
    return outputs[0] if len(outputs) == 1 else outputs


def tensors_of(b: LayerBuilder, values: Any) -> list[LayerTensor]:
    """A list of tensors; constants among them get the type of the others."""
    operands = values if isinstance(values, list | tuple) else [values]
    dtype = next((x.dtype for x in operands if isinstance(x, LayerTensor)), None)
    return [x if isinstance(x, LayerTensor) else b.constant(x, dtype) for x in operands]
