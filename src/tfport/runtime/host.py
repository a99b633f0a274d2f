"""Call host kernels: inputs grouped as the OpDef says, attributes by name, outputs flattened.

`host_shapes` gives the output shapes of a node on the host.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfport.errors import CannotRun, InternalError
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.graph.op_facts.node_call import MOST_ELEMENTS, output_dims
from tfport.graph.op_facts.rule import Dims, OpCall
from tfport.graph.op_signature import OpSignature
from tfport.runtime.custom.checked_call import checked_call
from tfport.runtime.failures import FAILURES, raise_named
from tfport.runtime.lower import Context, Implementation
from tfport.runtime.operand import Operand
from tfport.runtime.program import Run

Group = Operand | list[Operand]
"""One argument of an op: a tensor, or a list of tensors."""


def group_inputs(inputs: Sequence[Operand], attrs: Mapping[str, Attr], signature: OpSignature) -> list[Group]:
    """Group flat inputs by the arguments of the op."""
    if signature.flat_inputs and len(signature.inputs) == len(inputs):
        return list(inputs)
    groups: list[Group] = []
    at = 0
    for arg in signature.inputs:
        if arg.is_list:
            count = arg.count(attrs)
            groups.append(list(inputs[at : at + count]))
            at += count
        else:
            groups.extend(inputs[at : at + 1])
            at += 1
    if at != len(inputs):
        raise CannotRun(f"{signature.name} takes {at} inputs, got {len(inputs)}")
    return groups


def kernel_arguments(
    declared: Implementation, node: Node, attrs: Mapping[str, Attr], signature: OpSignature
) -> dict[str, Attr]:
    """The attributes that a function takes, by name; CannotRun if the node has another one."""
    inferred = inferred_attrs(signature)
    for name in attrs:
        if name not in declared.named and name not in inferred and not name.startswith("_"):
            if name in signature.attr_types:
                raise CannotRun(f"the kernel of {node.op} does not support its attribute {name}")
            raise CannotRun(f"{node.op} has no attribute {name}")
    if missing := [name for name in declared.named if name not in attrs]:
        raise CannotRun(f"{node.op} has no value for its attribute {missing[0]}")
    return {name: attrs[name] for name in declared.named}


@functools.lru_cache(1024)
def inferred_attrs(signature: OpSignature) -> frozenset[str]:
    """The attributes that follow from the inputs: their types and their number."""
    names = (n for arg in signature.inputs for n in (arg.type_attr, arg.number_attr, arg.list_attr))
    return frozenset(filter(None, names))


def host_run(
    declared: Implementation, groups: Sequence[Group], kwargs: Mapping[str, Attr], context: Context
) -> Run:
    """A host kernel as a function of flat arrays; the caller suppresses NumPy's warnings.

    A kernel may have a `quick` variant for a node, prepared once from its constant inputs: it
    returns what the kernel would, or None where the kernel has to be called.
    """
    if (for_node := getattr(declared.function, "for_node", None)) is not None:
        prepared: Run = for_node(groups, kwargs, context)  # a kernel in C++
        return prepared
    function = declared.function
    named = {**kwargs, "context": context} if declared.wants_context else dict(kwargs)
    regroup = _regroup(groups)
    if declared.strict:
        return checked_call(function, named, regroup, context)
    call = functools.partial(function, **named) if named else function
    if regroup is not None:
        call = _regrouped(call, regroup)
    if hasattr(function, "quick") and (quick := function.quick(groups, kwargs)) is not None:
        call = _quickly(quick, call)
    name, op, dtypes = context.name, context.op, _numpy_types(context.outputs)
    dtype = dtypes[0] if dtypes is not None and len(dtypes) == 1 else None

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        try:
            result = call(*inputs)
            if type(result) is np.ndarray:
                if result.dtype is dtype:  # nearly always
                    return (result,)
            elif type(result) is tuple:
                if [type(array) is np.ndarray and array.dtype for array in result] == dtypes:
                    return result
            elif result is None and dtypes == []:
                return ()
            elif dtype is not None and type(result) is dtype.type:  # a NumPy scalar
                return (np.asarray(result),)
            return flat_outputs(result, context)
        except FAILURES as error:
            raise_named(error, name, op, kwargs, inputs)

    return run


def _regrouped(call: Callable[..., Any], regroup: Callable[[Sequence[Any]], list[Any]]) -> Callable[..., Any]:
    return lambda *inputs: call(*regroup(inputs))


def _quickly(quick: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Any]:
    """The quick variant of a kernel where it has an answer."""

    def either(*inputs: Any) -> Any:
        result = quick(*inputs)
        return call(*inputs) if result is None else result

    return either


def _numpy_types(types: Sequence[DType]) -> list[Any] | None:
    """The NumPy types of the outputs; None where an output may not be an array."""
    if any(dtype.name in ("resource", "variant") or dtype.is_ref for dtype in types):
        return None
    return [dtype.numpy for dtype in types]


def flat_outputs(result: Any, context: Context) -> list[Any]:
    """What a kernel returned, flattened and converted to the types that the op declares."""
    flat = list(_flat(result))
    if len(flat) != len(context.outputs):
        raise InternalError(
            f"`{context.name}` ({context.op}): internal error of tfport: "
            f"its kernel returns {len(flat)} outputs; expected {len(context.outputs)}"
        )
    return [_typed(value, dtype) for value, dtype in zip(flat, context.outputs, strict=True)]


def _typed(value: Any, dtype: DType) -> Any:
    if dtype.name in ("resource", "variant") or dtype.is_ref:
        return value
    numpy_type = dtype.numpy
    if isinstance(value, np.ndarray) and value.dtype == numpy_type:
        return value
    if numpy_type.kind == "O" and isinstance(value, bytes):
        array = np.empty((), object)
        array[()] = value
        return array
    with np.errstate(all="ignore"):  # floats that are too large become infinite
        return np.asarray(value, numpy_type)


def _flat(result: Any) -> Iterator[Any]:
    if isinstance(result, tuple | list):
        for part in result:
            yield from _flat(part)
    elif result is not None:
        yield result


def _regroup(groups: Sequence[Group]) -> Callable[[Sequence[Any]], list[Any]] | None:
    """Group flat arrays by the arguments of the op; None where no argument is a list."""
    if not any(isinstance(group, list) for group in groups):
        return None
    counts = [len(group) if isinstance(group, list) else None for group in groups]

    def regroup(inputs: Sequence[Any]) -> list[Any]:
        arguments: list[Any] = []
        at = 0
        for count in counts:
            arguments.append(inputs[at] if count is None else list(inputs[at : at + count]))
            at += 1 if count is None else count
        return arguments

    return regroup


def host_shapes(
    op: str, inputs: Sequence[Operand], attrs: Mapping[str, Any], outputs: int
) -> list[Dims | None]:
    """The shape of each output by the rules of `graph.op_facts`; None where the rank is unknown."""
    return output_dims(_OperandCall(op, inputs, attrs), outputs)


class _OperandCall(OpCall):
    """An op on operands, as shape rules see it; the attributes have all defaults."""

    __slots__ = ("_attrs", "_inputs")

    def __init__(self, op: str, inputs: Sequence[Operand], attrs: Mapping[str, Any]) -> None:
        super().__init__(op, [operand.shape for operand in inputs])
        self._inputs, self._attrs = inputs, attrs

    def attr(self, name: str, default: Any = None) -> Any:
        value = self._attrs.get(name)
        return default if value is None else value

    def elements(self, index: int) -> Dims | None:
        operand = self._inputs[index]
        array = operand.array
        if operand.known is not None or array is None:
            return operand.known
        short = array.size <= MOST_ELEMENTS and array.dtype.kind in "iu"
        return tuple(array.reshape(-1).tolist()) if short else None

    def dtype(self, index: int) -> DType:
        return self._inputs[index].dtype
