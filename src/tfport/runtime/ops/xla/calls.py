"""XLA ops whose attributes are computations, and ops that pass a value on.

A computation is a function of scalars. It is traced once, without an engine, and called with arrays
if all of its ops are element-wise; otherwise it is called for one element at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.runtime.engines.no_engine import NoEngine
from tfport.runtime.failures import UnsupportedNode, naming_node
from tfport.runtime.lower import structure
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control import functional as control
from tfport.runtime.ops.control.structure_steps import InnerProgram
from tfport.runtime.ops.xla import hlo_calls as calls
from tfport.runtime.ops.xla.dimension_numbers import SCATTER, dimension_numbers, only
from tfport.runtime.ops.xla.hlo_calls import SECOND, Computation, one_at_a_time
from tfport.runtime.program import NeverLowered, Program, Step
from tfport.runtime.trace import Tracer

Attrs = dict[str, Attr]
_KNOWN = {
    "Add": "add", "AddV2": "add", "Mul": "multiply", "Maximum": "maximum", "Minimum": "minimum",
    "LogicalAnd": "and", "LogicalOr": "or", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor", "Less": "less", "Greater": "greater",
}  # fmt: skip
_BY_ELEMENT = frozenset(
    [
        "Add",
        "AddV2",
        "Sub",
        "Mul",
        "Div",
        "RealDiv",
        "FloorDiv",
        "FloorMod",
        "Mod",
        "TruncateDiv",
        "TruncateMod",
        "Maximum",
        "Minimum",
        "Pow",
        "Neg",
        "Abs",
        "Sign",
        "Square",
        "Sqrt",
        "Rsqrt",
        "Exp",
        "Expm1",
        "Log",
        "Log1p",
        "Tanh",
        "Sigmoid",
        "Sin",
        "Cos",
        "Floor",
        "Ceil",
        "Round",
        "Rint",
        "Cast",
        "Bitcast",
        "Less",
        "LessEqual",
        "Greater",
        "GreaterEqual",
        "Equal",
        "NotEqual",
        "LogicalAnd",
        "LogicalOr",
        "LogicalNot",
        "LogicalXor",
        "BitwiseAnd",
        "BitwiseOr",
        "BitwiseXor",
        "Invert",
        "SelectV2",
        "Select",
        "IsNan",
        "IsInf",
        "IsFinite",
        "ZerosLike",
        "OnesLike",
        "Atan2",
        "SquaredDifference",
        "LeftShift",
        "RightShift",
        "DivNoNan",
        "ClipByValue",
    ]
)


def computation(tracer: Tracer, node: Node, name: str, attrs: Attrs, dtypes: Sequence[DType]) -> Computation:
    """The computation that an attribute names."""
    function, overrides = control.function_of(node, name, attrs)
    inner = Tracer(tracer.state, NoEngine())
    shapes: tuple[tuple[int, ...] | None, ...] = (None, ())
    for shape in shapes:  # arrays of any shape, or else one element at a time
        args = [Operand(dtype, shape, name=node.name) for dtype in dtypes]
        program = inner.program(args, lambda args=args: inner.call(function, args, overrides))  # type: ignore[misc]
        if all(step.op in _BY_ELEMENT for step in program.steps):
            break
    tracer.unsupported += inner.unsupported
    runner = InnerProgram(program, inner.engine, [])

    def call(*arrays: Any) -> Sequence[Any]:
        return runner.run(arrays, ())

    by_element = all(step.op in _BY_ELEMENT for step in program.steps)
    return Computation(call if by_element else one_at_a_time(call, len(program.results)), _known(program))


def _known(program: Program) -> str:
    """The name of a computation of at most one step, if it is a known one."""
    args, results = program.args, program.results
    if len(args) < 2 or len(results) != 1:
        return ""
    if not program.steps:
        return SECOND if results[0] is args[1] and len(args) == 2 else ""
    step = program.steps[0]
    if len(program.steps) == 1 and step.inputs == (args[0], args[1]) and step.outputs[0] is results[0]:
        name = _KNOWN.get(step.op, "")
        return name if len(args) == 2 or name in ("less", "greater") else ""
    return ""


def _step(
    tracer: Tracer, node: Node, inputs: Sequence[Operand], dtypes: Sequence[DType], run: Callable[..., Any]
) -> list[Operand]:
    """A step whose errors name its node."""

    def typed(arrays: Sequence[Any]) -> list[Any]:
        with np.errstate(all="ignore"):
            return [np.asarray(a, k.numpy) for a, k in zip(run(*arrays), dtypes, strict=True)]

    named = naming_node(typed, node.name, node.op)
    outputs = tuple(Operand(dtype, None, name=node.name) for dtype in dtypes)
    return list(
        tracer.add(Step(node.name, node.op, tuple(inputs), outputs, run=named, why=NeverLowered.XLA_OP))
    )


def _ints(array: Any) -> list[int]:
    return [int(n) for n in np.asarray(array).reshape(-1)]


@structure("XlaReduce XlaVariadicReduce XlaVariadicReduceV2")
def reduce(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    half = len(inputs) // 2
    dtypes = [operand.dtype for operand in inputs]
    reducer = computation(tracer, node, "reducer", attrs, dtypes)
    axes = _ints(attrs["dimensions_to_reduce"])
    return _step(
        tracer, node, inputs, dtypes[:half], lambda *a: calls.reduce(a[:half], a[half:], axes, reducer)
    )


@structure("XlaReduceWindow")
def reduce_window(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    dtype = inputs[0].dtype
    folded = computation(tracer, node, "computation", attrs, [dtype, dtype])

    def run(x: Any, start: Any, size: Any, strides: Any, base: Any, dilation: Any, padding: Any) -> list[Any]:
        return calls.reduce_window(
            [x],
            [start],
            size=_ints(size),
            strides=_ints(strides),
            base_dilation=_ints(base),
            window_dilation=_ints(dilation),
            padding=padding.tolist(),
            computation=folded,
        )

    return _step(tracer, node, inputs, [dtype], run)


@structure("XlaSelectAndScatter")
def select_and_scatter(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    dtype = inputs[0].dtype
    select, scatter = (
        computation(tracer, node, name, attrs, [dtype, dtype]) for name in ("select", "scatter")
    )

    def run(operand: Any, size: Any, strides: Any, padding: Any, source: Any, start: Any) -> list[Any]:
        return [
            calls.select_and_scatter(
                operand,
                source,
                start,
                size=_ints(size),
                strides=_ints(strides),
                padding=padding.tolist(),
                select=select,
                scatter=scatter,
            )
        ]

    return _step(tracer, node, inputs, [dtype], run)


@structure("XlaScatter")
def scatter(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    dtype = inputs[0].dtype
    update = computation(tracer, node, "update_computation", attrs, [dtype, dtype])
    numbers: dict[str, Any] = dict(dimension_numbers(attrs["dimension_numbers"], SCATTER))
    numbers["index_vector_dim"] = only(numbers["index_vector_dim"])
    return _step(
        tracer,
        node,
        inputs,
        [dtype],
        lambda x, indices, new: calls.scatter([x], indices, [new], update, **numbers),
    )


@structure("XlaVariadicSort")
def variadic_sort(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    *sorted_, _dimension = inputs
    dtypes = [operand.dtype for operand in sorted_]
    comparator = computation(
        tracer, node, "comparator", attrs, [k for dtype in dtypes for k in (dtype, dtype)]
    )
    return _step(tracer, node, inputs, dtypes, lambda *a: calls.sort(a[:-1], int(a[-1]), comparator))


structure("XlaIf")(control.if_)
structure("XlaWhile")(control.while_)


@structure("XlaLaunch XlaLaunchV2")
def launch(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    """A compiled cluster is a call."""
    function, overrides = control.function_of(node, "function", attrs)
    return tracer.call(function, inputs, overrides)


@structure(
    "XlaSharding XlaSpmdFullToShardShape XlaSpmdShardToFullShape XlaOptimizationBarrier XlaClusterOutput"
)
def pass_on(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    """There is one device, which has whole tensors."""
    return inputs


@structure("XlaSetBound")
def set_bound(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    return inputs[:1]


@structure("XlaRemoveDynamicDimensionSize")
def remove_dynamic_size(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    """Return the input; unsupported after a dynamic size was set, which loses the elements beyond it."""
    if node.inputs[0].node.op == "XlaSetDynamicDimensionSize":
        tracer.unsupported.append(UnsupportedNode(node, "elements beyond a dynamic size are not kept"))
    return inputs[:1]
