"""Call host kernels: inputs grouped as the OpDef says, attributes by name, outputs flattened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfport.errors import CannotRun, Error
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.graph.signature import OpSignature
from tfport.runtime.custom.checked_call import checked_call
from tfport.runtime.failures import naming_node
from tfport.runtime.lower import Context, Implementation
from tfport.runtime.operand import Operand
from tfport.runtime.program import Run

Group = Operand | list[Operand]
"""One argument of an op: a tensor, or a list of them."""


def group_inputs(inputs: Sequence[Operand], attrs: Mapping[str, Attr], signature: OpSignature) -> list[Group]:
    """Flat inputs as the arguments of the op."""
    found: list[Group] = []
    at = 0
    for arg in signature.inputs:
        if arg.is_list:
            count = arg.count(attrs)
            found.append(list(inputs[at : at + count]))
            at += count
        else:
            found.extend(inputs[at : at + 1])
            at += 1
    if at != len(inputs):
        raise CannotRun(f"{signature.name} takes {at} inputs and is given {len(inputs)}")
    return found


def kernel_arguments(
    declared: Implementation, node: Node, attrs: Mapping[str, Attr], signature: OpSignature
) -> dict[str, Attr]:
    """The attributes that a function takes, by name; one that it does not name is refused."""
    decided = inferred_attrs(signature)
    for name in attrs:
        if name not in declared.named and name not in decided and not name.startswith("_"):
            if name in signature.attr_types:
                raise CannotRun(f"the kernel of {node.op} does not take its attribute {name}")
            raise CannotRun(f"{node.op} has no attribute {name} here")
    if missing := [name for name in declared.named if name not in attrs]:
        raise CannotRun(f"{node.op} lacks its attribute {missing[0]}")
    return {name: attrs[name] for name in declared.named}


def inferred_attrs(signature: OpSignature) -> set[str]:
    """The attributes that follow from the inputs: their types, and how many they are."""
    return {
        name for arg in signature.inputs for name in (arg.type_attr, arg.number_attr, arg.list_attr) if name
    }


def host_run(
    declared: Implementation, groups: Sequence[Group], kwargs: Mapping[str, Attr], context: Context
) -> Run:
    """A host kernel as a function of flat arrays; whoever calls it keeps NumPy from warning.

    A kernel may have a `quick` way for a node, made once of what is constant in its inputs:
    it answers what the kernel would, or None where the kernel is to be asked.
    """
    if (for_node := getattr(declared.function, "for_node", None)) is not None:
        prepared: Run = for_node(groups, kwargs, context)  # a kernel in C++, called without detours
        return prepared
    function = declared.function
    named = {**kwargs, "context": context} if declared.wants_context else dict(kwargs)
    regroup = _regroup(groups)
    if declared.strict:
        return checked_call(function, named, regroup, context)
    kinds = _kinds(context.outputs)
    quick = function.quick(groups, kwargs) if hasattr(function, "quick") else None

    def run(given: Sequence[Any]) -> Sequence[Any]:
        answer = None if quick is None else quick(given)
        if answer is None:
            answer = function(*(regroup(given) if regroup else given), **named)
        flat = (answer,) if type(answer) is np.ndarray else answer
        if type(flat) is tuple and [type(one) is np.ndarray and one.dtype for one in flat] == kinds:
            return flat  # as it should be, which is nearly always
        return flat_outputs(answer, context)

    return naming_node(run, context.name, context.op, kwargs)


def _kinds(types: Sequence[DType]) -> list[Any] | None:
    """The types of arrays that need no second look; None where an output may be no array."""
    if any(dtype.name in ("resource", "variant") or dtype.is_ref for dtype in types):
        return None
    return [dtype.numpy for dtype in types]


def flat_outputs(answer: Any, context: Context) -> list[Any]:
    """What a kernel returned, flat and in the types that the op declares."""
    flat = list(_flat(answer))
    if len(flat) != len(context.outputs):
        raise Error(f"the kernel of {context.op} gives {len(flat)} outputs, not {len(context.outputs)}")
    return [_typed(one, dtype) for one, dtype in zip(flat, context.outputs, strict=True)]


def _typed(one: Any, dtype: DType) -> Any:
    if dtype.name in ("resource", "variant") or dtype.is_ref:
        return one
    kind = dtype.numpy
    if isinstance(one, np.ndarray) and one.dtype == kind:
        return one
    if kind.kind == "O" and isinstance(one, bytes):
        array = np.empty((), object)
        array[()] = one
        return array
    with np.errstate(all="ignore"):  # what does not fit is infinite
        return np.asarray(one, kind)


def _flat(answer: Any) -> Iterator[Any]:
    if isinstance(answer, tuple | list):
        for one in answer:
            yield from _flat(one)
    elif answer is not None:
        yield answer


def _regroup(groups: Sequence[Group]) -> Callable[[Sequence[Any]], list[Any]] | None:
    """Flat arrays as the arguments of the op; None where each is one tensor already."""
    if not any(isinstance(group, list) for group in groups):
        return None
    counts = [len(group) if isinstance(group, list) else None for group in groups]

    def regroup(given: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        at = 0
        for count in counts:
            found.append(given[at] if count is None else list(given[at : at + count]))
            at += 1 if count is None else count
        return found

    return regroup
