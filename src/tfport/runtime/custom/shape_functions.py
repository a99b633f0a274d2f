"""The shape function of an op: from what is known of its inputs' shapes to those of its outputs.

It is called as a kernel is: a shape for each input, a list of shapes for a list, the attributes
that it names by keyword. A shape is a tuple with None for a size that is not known yet, or None
where not even the rank is. It answers with one shape, or a list of them where there are several
outputs. What a kernel then gives is held against it: a shape function that is wrong is found.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from tfport.errors import BadRegistration, CannotRun, RunFailed
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr
from tfport.graph.signature import OpSignature
from tfport.runtime.host import group_inputs
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.program import Run

ShapeFunction = Callable[..., Any]
ShapeRule = Callable[[Sequence[Operand], Mapping[str, Attr]], list[Dims | None]]


def shape_rule(definition: OpDef, function: ShapeFunction, provider: str) -> ShapeRule:
    """A shape function as the runtime asks for it."""
    signature = OpSignature(definition)
    where = f"{provider}: the shape function of {definition.name}"
    named = _named(function, signature, where)

    def rule(inputs: Sequence[Operand], attrs: Mapping[str, Attr]) -> list[Dims | None]:
        shapes = [
            [operand.shape for operand in group] if isinstance(group, list) else group.shape
            for group in group_inputs(list(inputs), attrs, signature)
        ]
        try:
            answer = function(*shapes, **{name: attrs[name] for name in named if name in attrs})
        except Exception as error:
            raise CannotRun(f"{where} fails: {type(error).__name__}: {error}") from error
        return _answered(answer, signature.output_count(attrs) or 0, signature, where)

    return rule


def _named(function: ShapeFunction, signature: OpSignature, where: str) -> list[str]:
    parameters = list(inspect.signature(function).parameters.values())
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    several = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if not several and len(positional) != len(signature.inputs):
        raise BadRegistration(f"{where} takes {len(positional)} shapes; expected {len(signature.inputs)}")
    named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    if unknown := next((name for name in named if name not in signature.attr_types), None):
        raise BadRegistration(f"{where} takes an attribute `{unknown}`, which the op has not")
    return named


def _answered(answer: Any, count: int, signature: OpSignature, where: str) -> list[Dims | None]:
    is_single = len(signature.outputs) == 1 and signature.flat
    shapes = answer if isinstance(answer, list) and not is_single else [answer]
    if len(shapes) != count:
        raise CannotRun(f"{where} gives {len(shapes)} shapes for {count} outputs; expected a list of {count}")
    return [_dims(shape, where) for shape in shapes]


def _dims(shape: Any, where: str) -> Dims | None:
    if shape is None:
        return None
    if not isinstance(shape, tuple | list) or not all(d is None or isinstance(d, Integral) for d in shape):
        raise CannotRun(f"{where} gives {shape!r}; expected a tuple of sizes, with None for one not known")
    return tuple(None if size is None else int(size) for size in shape)


def with_checked_shapes(run: Run, shapes: Sequence[Dims | None], name: str, op: str) -> Run:
    """A kernel whose answers are held against the shapes that its op promises."""
    if all(shape is None for shape in shapes):
        return run

    def checked(inputs: Sequence[Any]) -> Sequence[Any]:
        answers = run(inputs)
        for answer, promised in zip(answers, shapes, strict=True):
            if promised is not None and not _fits(np.shape(answer), promised):
                raise RunFailed(
                    f"`{name}` ({op}): the kernel gives a tensor of shape {np.shape(answer)}; "
                    f"the shape function says {promised}"
                )
        return answers

    return checked


def _fits(actual: tuple[int, ...], promised: Dims) -> bool:
    if len(actual) != len(promised):
        return False
    return all(size in (None, there) for there, size in zip(actual, promised, strict=True))
