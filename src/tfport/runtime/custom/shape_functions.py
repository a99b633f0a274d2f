"""Shape functions of custom ops: from the known input shapes to the output shapes.

A shape function is called like a kernel: a shape for each input, a list of shapes for a list input,
and the attributes that it names by keyword. A shape is a tuple with None for an unknown size, or
None if the rank is unknown. It returns a shape, or a list of shapes for several outputs. The outputs
of the kernel are checked against it, so a wrong shape function is an error.
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
from tfport.graph.op_signature import OpSignature
from tfport.runtime.host import group_inputs
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.program import Run

ShapeFunction = Callable[..., Any]
ShapeRule = Callable[[Sequence[Operand], Mapping[str, Attr]], list[Dims | None]]


def shape_rule(definition: OpDef, function: ShapeFunction, provider: str) -> ShapeRule:
    """A shape function in the form that the runtime calls."""
    signature = OpSignature(definition)
    where = f"{provider}: the shape function of {definition.name}"
    named = _named(function, signature, where)

    def rule(inputs: Sequence[Operand], attrs: Mapping[str, Attr]) -> list[Dims | None]:
        shapes = [
            [operand.shape for operand in group] if isinstance(group, list) else group.shape
            for group in group_inputs(list(inputs), attrs, signature)
        ]
        try:
            result = function(*shapes, **{name: attrs[name] for name in named if name in attrs})
        except Exception as error:
            raise CannotRun(f"{where} fails: {type(error).__name__}: {error}") from error
        return _validated(result, signature.output_count(attrs) or 0, signature, where)

    return rule


def _named(function: ShapeFunction, signature: OpSignature, where: str) -> list[str]:
    parameters = list(inspect.signature(function).parameters.values())
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    is_variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if not is_variadic and len(positional) != len(signature.inputs):
        raise BadRegistration(f"{where} takes {len(positional)} shapes; expected {len(signature.inputs)}")
    named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    if unknown := next((name for name in named if name not in signature.attr_types), None):
        raise BadRegistration(f"{where} takes `{unknown}`, which is not an attribute of the op")
    return named


def _validated(result: Any, count: int, signature: OpSignature, where: str) -> list[Dims | None]:
    is_single = len(signature.outputs) == 1 and signature.flat
    shapes = result if isinstance(result, list) and not is_single else [result]
    if len(shapes) != count:
        raise CannotRun(f"{where} returns {len(shapes)} shapes; expected a list of {count}")
    return [_dims(shape, where) for shape in shapes]


def _dims(shape: Any, where: str) -> Dims | None:
    if shape is None:
        return None
    if not isinstance(shape, tuple | list) or not all(d is None or isinstance(d, Integral) for d in shape):
        raise CannotRun(f"{where} returns {shape!r}; expected a tuple of sizes, None for an unknown one")
    return tuple(None if size is None else int(size) for size in shape)


def with_checked_shapes(run: Run, shapes: Sequence[Dims | None], name: str, op: str) -> Run:
    """A kernel whose outputs are checked against the shapes of the shape function."""
    if all(shape is None for shape in shapes):
        return run

    def checked(inputs: Sequence[Any]) -> Sequence[Any]:
        outputs = run(inputs)
        for output, expected in zip(outputs, shapes, strict=True):
            if expected is not None and not _fits(np.shape(output), expected):
                raise RunFailed(
                    f"`{name}` ({op}): the kernel returns shape {np.shape(output)}; "
                    f"the shape function says {expected}"
                )
        return outputs

    return checked


def _fits(actual: tuple[int, ...], expected: Dims) -> bool:
    if len(actual) != len(expected):
        return False
    return all(size in (None, known) for known, size in zip(actual, expected, strict=True))
