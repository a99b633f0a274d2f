"""Do the inputs of a node match the definition of its op, in number and in types?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tfport.graph.attrs import Attr, Placeholder
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.op_signature import OpSignature
from tfport.registry.unresolved import Question, Unresolved


def unresolved_inputs(
    inputs: Sequence[DType], attrs: Mapping[str, Attr], signature: OpSignature
) -> Iterator[Unresolved]:
    """What is wrong with the inputs; nothing where the attributes do not determine the expected types."""
    expected = expected_types(attrs, signature)
    if expected is None:
        return
    if len(expected) != len(inputs):
        question = Question.INPUTS_FEW if len(inputs) < len(expected) else Question.INPUTS_MANY
        yield Unresolved(question, actual=len(inputs), expected=tuple(expected))
        return
    if tuple(inputs) == tuple(expected):
        return
    for index, (actual, wanted) in enumerate(zip(inputs, expected, strict=True)):
        if INVALID not in (actual, wanted) and not _compatible(actual, wanted):
            yield Unresolved(Question.INPUT_TYPE, actual=actual, expected=wanted, index=index)


def expected_types(attrs: Mapping[str, Attr], signature: OpSignature) -> list[DType] | None:
    """The types of all inputs in order; None where attributes are missing or decided by a caller."""
    known = signature.with_defaults(attrs)
    types: list[DType] = []
    for arg in signature.inputs:
        if any(isinstance(known.get(a), Placeholder) for a in (arg.number_attr, arg.list_attr) if a):
            return None
        try:
            count = arg.count(known)
        except (KeyError, TypeError):
            return None
        types += arg.types(count, known)
    return types


def _compatible(actual: DType, wanted: DType) -> bool:
    """Whether an input has the wanted type; a reference can be read as a value."""
    return actual == wanted or (actual.is_ref and not wanted.is_ref and actual.base == wanted)
