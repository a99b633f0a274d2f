"""How a node contradicts the definition of its op, in words.

The rules are those of `registry`: attributes and input types as TensorFlow validates them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.op_signature import OpSignature
from tfport.registry.resolve import unresolved_attributes, unresolved_inputs
from tfport.registry.unresolved import Question, Unresolved


def mismatches(definition: OpDef, attrs: Mapping[str, Attr], inputs: Sequence[DType]) -> Iterator[str]:
    """Everything in a node's attributes and input types that contradicts the definition."""
    yield from map(_describe, unresolved_attributes(attrs, definition))
    yield from map(_describe, unresolved_inputs(inputs, attrs, OpSignature(definition)))


def wrong_values(definition: OpDef, attrs: Mapping[str, Attr]) -> list[str]:
    """The attributes, of some of a node's, whose values the definition does not allow."""
    values = {name: value for name, value in attrs.items() if not callable(value)}  # functions are bound
    wrong = (Question.ATTR_TYPE, Question.ATTR_MINIMUM, Question.ATTR_VALUE)
    return [_describe(r) for r in unresolved_attributes(values, definition) if r.question in wrong]


def _describe(reason: Unresolved) -> str:
    actual, expected = reason.actual, reason.expected
    match reason.question:
        case Question.UNKNOWN_ATTR:
            return f"it has no attribute `{reason.attr}`"
        case Question.MISSING_ATTR:
            return f"its attribute `{reason.attr}` is missing and has no default"
        case Question.ATTR_TYPE:
            return f"its attribute `{reason.attr}` is of type {actual}; expected {expected}"
        case Question.ATTR_MINIMUM:
            return f"its attribute `{reason.attr}` is {actual}; expected at least {expected}"
        case Question.ATTR_VALUE:
            return f"its attribute `{reason.attr}` is {actual}; expected {', '.join(map(str, expected))}"
        case Question.INPUT_TYPE:
            return f"its input {reason.index} is {actual}; expected {expected}"
        case _:
            return f"it has {actual} inputs; expected {len(expected)}"
