"""Replace XlaCallModule nodes that the target does not run by calls of functions with the same program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfport.check.xla_modules import XLA_PROGRAM
from tfport.errors import Error, UnreadableFile
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.rule import ROUNDING, Refusal, refuse
from tfport.fix.stablehlo.nodes import HloNodes
from tfport.fix.stablehlo.program import ProgramBuilder
from tfport.fix.stablehlo.tensor import HloTensor, element_type
from tfport.formats.stablehlo.vhlo import HloBody, TensorType, read_vhlo
from tfport.graph.attrs import FunctionRef
from tfport.graph.dtypes import DType
from tfport.graph.graph import Function, Node
from tfport.graph.model import Model
from tfport.graph.reach import every_node
from tfport.graph.shapes import Shape
from tfport.registry.unresolved import Question
from tfport.runtime.ops.xla.call_module import MAIN, PLATFORM

SAYS = "The program of an XlaCallModule is written out as TensorFlow ops."


def expand_modules(model: Model, checker: NodeChecker, journal: Journal) -> list[str]:
    """Replace the modules that the target does not run; returns why some remain."""
    reasons: dict[str, None] = {}
    for node in [node for node in every_node(model.graph) if node.op == XLA_PROGRAM]:
        if not _is_unsupported(node, checker):
            continue
        try:
            replace_module(node, checker)
        except (Refusal, Error) as error:
            reasons[f"the program of `{node.name}` cannot be written as TensorFlow ops: {error}"] = None
        else:
            journal.changed("program as ops", SAYS, [(node.name, XLA_PROGRAM)], ROUNDING)
    return list(reasons)


def _is_unsupported(node: Node, checker: NodeChecker) -> bool:
    """Whether the target does not run a node; unknown attributes are left to rules."""
    return any(reason.question is not Question.UNKNOWN_ATTR for reason in checker.unresolved(node))


def replace_module(node: Node, checker: NodeChecker) -> None:
    """Turn a node into a call of a function with its program."""
    function = _function(node, checker)
    types = [value.dtype.base for value in node.inputs]
    outputs = node.attrs["Tout"]
    op = "StatefulPartitionedCall" if function.definition.is_stateful else "PartitionedCall"
    kept = {name: value for name, value in node.attrs.items() if name == "_output_shapes"}
    node.become(op, {"Tin": types, "Tout": outputs, "f": FunctionRef(function.name), **kept})


def _function(node: Node, checker: NodeChecker) -> Function:
    attrs = node.attrs
    if attrs.get("has_token_input_output"):
        raise refuse("it passes tokens, which order effects")
    module = attrs["module"]
    raw = module.encode() if isinstance(module, str) else bytes(module)
    called = [ref for ref in attrs.get("function_list") or [] if isinstance(ref, FunctionRef)]
    program = ProgramBuilder(
        node.graph,
        node.name.rpartition("/")[2],
        read_vhlo(raw, f"the module of `{node.name}`"),
        checker,
        called,
    )
    main = program.functions.get(MAIN)
    if main is None:
        raise UnreadableFile(f"the module has no function {MAIN}")
    if names := program.unsupported():
        raise refuse(f"there is no translation of {', '.join(names)}")
    extra = list(_extra_arguments(attrs, main, len(node.inputs)))
    if len(main.args) != len(node.inputs) + len(extra):
        raise refuse(f"its program takes {len(main.args)} tensors, found {len(node.inputs)}")
    types = main.types[len(extra) :]

    def body(op: HloNodes, passed: list[HloTensor]) -> list[Any]:
        before = [_extra(op, what, kind, passed) for what, kind in zip(extra, main.types, strict=False)]
        results = program.call(op, MAIN, [*before, *passed])
        return [_as_declared(op, result, kind) for result, kind in zip(results, attrs["Tout"], strict=True)]

    for value, kind in zip(node.inputs, types, strict=True):
        if value.dtype.base != element_type(kind.element):
            raise refuse(f"its input `{value}` is {value.dtype.base}, its program takes {kind.element}")
    return program.function(
        MAIN, [_merged(kind, value.shape) for kind, value in zip(types, node.inputs, strict=True)], body
    )


def _merged(kind: TensorType, shape: Shape) -> TensorType:
    """The type of an argument with the sizes that the graph states."""
    if shape.dims is None or len(shape.dims) != len(kind.shape):
        return kind
    sizes = tuple(b if a is None else a for a, b in zip(kind.shape, shape.dims, strict=True))
    return TensorType(kind.element, sizes)


def _extra_arguments(attrs: Any, main: HloBody, inputs: int) -> Iterator[str]:
    """The arguments that TensorFlow adds: the number of the platform, and sizes (`input.axis`)."""
    platforms = [str(p.decode() if isinstance(p, bytes) else p).upper() for p in attrs.get("platforms") or []]
    sizes = [
        str(spec.decode() if isinstance(spec, bytes) else spec) for spec in attrs.get("dim_args_spec") or []
    ]
    if len(platforms) > 1 and len(main.args) == inputs + len(sizes) + 1:
        yield str(platforms.index(PLATFORM) if PLATFORM in platforms else 0)
    yield from sizes


def _extra(op: HloNodes, what: str, kind: TensorType, passed: Sequence[HloTensor]) -> HloTensor:
    place, _, axis = what.partition(".")
    if not axis:
        return op.known(np.array(int(place), kind.element))
    size = op.dims_of(passed[int(place)])[int(axis)]
    if isinstance(size, int):
        return op.known(np.array(size, kind.element))
    return op.tensor(op.Cast(size, DstT=element_type(kind.element)), ())


def _as_declared(op: HloNodes, result: Any, dtype: DType) -> HloTensor:
    """A result in the type that the node declares; an argument is returned through an Identity."""
    if not isinstance(result, HloTensor) or result.dtype != dtype:
        raise refuse(f"its program does not return {dtype} as the node declares")
    if result.value.node.op == "_Arg":
        return op.tensor(op.Identity(result.value), result.dims)
    return result
