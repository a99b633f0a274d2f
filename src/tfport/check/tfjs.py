"""Will TensorFlow.js run a model, once it is a graph model? Asked of the record of a release and a backend.

A layers model must be one that `tf.loadLayersModel` reads, too.

Calls, variables and assertions do not count: conversion inlines, freezes and drops them. The rest is resolved
node by node, as for `fix`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfport.atlas.target import Target
from tfport.atlas.tfjs.releases import TfjsSource
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.tfjs_models import (
    TfjsBrokenOp,
    TfjsFinding,
    TfjsMissingKernel,
    TfjsNumberForNan,
    TfjsUnknownOp,
    TfjsUnreadableLayers,
    TfjsUnsupportedNode,
    TfjsWrongForSomeNumbers,
)
from tfport.check.other_format import OtherFormat
from tfport.formats.keras.records import KerasFile
from tfport.graph.constants import constant
from tfport.graph.dtypes import BOOL, FLOAT32, INT32, INT64, DType
from tfport.graph.graph import Function, Node
from tfport.graph.infer_shapes import infer_shapes
from tfport.graph.inline import is_engine_with_function
from tfport.graph.reach import needed_by
from tfport.graph.usage import Usage, usages
from tfport.registry.resolve import Resolver
from tfport.registry.unresolved import Question, Unresolved

CONVERTED = frozenset(
    """
    PartitionedCall StatefulPartitionedCall VarHandleOp ReadVariableOp Variable VariableV2 VarIsInitializedOp
    Assert ResourceGather
    """.split()  # noqa: SIM905
)
"""Ops that conversion inlines, freezes or drops."""
MATTERS = (Question.ATTR_VALUE, Question.KERNEL_TYPE)


def tfjs_findings(model: CheckedModel, target: Target) -> Iterator[TfjsFinding]:
    """What a release of TensorFlow.js does not run, one finding for each op with its problem."""
    model.model.require_graph()
    if model.model.lite is not None and not len(model.model.graph):
        raise OtherFormat(
            f"{model.model.where} is a TensorFlow Lite file", "name an interpreter", target.kind
        )
    source, resolver, seen = target.tfjs, Resolver(), set[str]()
    assert source is not None
    nodes = [
        node
        for node in model.needed_nodes()
        if node.op not in CONVERTED and not is_engine_with_function(node)
    ]
    notes = (*_numbers_for_nan(nodes, source), *wrong_numbers(nodes, source))
    layers = () if model.model.keras is None else _unreadable(model.model.keras)
    for finding in (*layers, *_structure(nodes), *_shapes(nodes, source), *_sizes(nodes, source), *notes):
        finding.signatures = sorted(model.signatures)
        yield finding.on_target(target)
    for usage in usages(nodes):
        for problem in _problems(usage, source, target, resolver):
            if problem.message not in seen:
                seen.add(problem.message)
                problem.nodes = list(usage.nodes)
                problem.signatures = sorted(model.signatures)
                yield problem


def _unreadable(file: KerasFile) -> Iterator[TfjsUnreadableLayers]:
    """What `tf.loadLayersModel` does not understand in a layers model: each kind of it once."""
    if file.layout != "tfjs" or file.config is None:
        return
    models = list(_models(file.config))
    layers = [layer for model in models for layer in model["layers"]]
    inputs = [layer["config"] for layer in layers if layer.get("class_name") == "InputLayer"]
    if any(config.keys().isdisjoint(("batch_input_shape", "input_shape")) for config in inputs):
        yield TfjsUnreadableLayers(
            what="an InputLayer has `batch_shape`",
            refusal="An InputLayer should be passed either a `batchInputShape` or an `inputShape`.",
        )
    if any(isinstance(node, dict) for layer in layers for node in layer.get("inbound_nodes", ())):
        yield TfjsUnreadableLayers(
            what="`inbound_nodes` are objects",
            refusal="Corrupted configuration, expected array for nodeData: [object Object]",
        )
    if any(isinstance(end, str) for model in models for key in ENDS for end in model.get(key, ())[:1]):
        yield TfjsUnreadableLayers(
            what="`input_layers` or `output_layers` is one layer instead of a list of layers",
            refusal="Cannot read properties of undefined (reading 'outputTensors')",
        )
    name = str(models[0].get("name", "")) if models else ""
    stored = file.weights.tfjs if file.weights is not None else None
    weights = [weight.entry.name for group in stored.groups for weight in group.weights] if stored else []
    is_prefixed = bool(weights) and all(weight.startswith(f"{name}/") for weight in weights)
    if is_prefixed and name not in {layer["config"].get("name") for layer in layers}:
        yield TfjsUnreadableLayers(
            what=f"the names of its weights begin with `{name}/`, the model's own name",
            refusal=f"Provided weight data has no target variable: {weights[0]}",
        )


ENDS = ("input_layers", "output_layers")


def _models(config: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The configuration of a model, and those of the models inside it."""
    inner = config.get("config")
    if isinstance(inner, dict) and isinstance(inner.get("layers"), list):
        layers = [x for x in inner["layers"] if isinstance(x, dict) and isinstance(x.get("config"), dict)]
        yield {**inner, "layers": layers}
        for layer in layers:
            yield from _models(layer)


def _numbers_for_nan(nodes: Sequence[Node], source: TfjsSource) -> Iterator[TfjsNumberForNan]:
    comparing = [node for node in nodes if node.op in source.numbers_for_nan()]
    if comparing:
        ops = sorted({node.op for node in comparing})
        yield TfjsNumberForNan(op=", ".join(ops), nodes=comparing)


def wrong_numbers(nodes: Sequence[Node], source: TfjsSource) -> Iterator[TfjsWrongForSomeNumbers]:
    for op in dict.fromkeys(node.op for node in nodes):
        if numbers := source.wrong_numbers(op):
            wrong = [node for node in nodes if node.op == op and (op != "Cast" or _is_truth(node))]
            if wrong:
                yield TfjsWrongForSomeNumbers(op=op, numbers=numbers, nodes=wrong)


def _is_truth(cast: Node) -> bool:
    """Whether a Cast makes bool of real numbers."""
    source = cast.attrs.get("SrcT")
    return cast.attrs.get("DstT") == BOOL and isinstance(source, DType) and source.is_floating


BOXES = "NonMaxSuppression"
SELECT = "Select"
AXES = {"Cumsum": 1, "Cumprod": 1, "Transpose": 1}
"""Inputs with axes that TensorFlow.js does not count from the end."""
FINDS = ("LookupTableFind", "LookupTableFindV2")


def _structure(nodes: Sequence[Node]) -> Iterator[TfjsUnsupportedNode]:
    """What real releases run otherwise than TensorFlow because of the nodes around a node.

    `Select` with a condition for each row: TensorFlow.js broadcasts it. Non-maximum suppression in a loop:
    it gets boxes of another rank. Axes from the end, in some ops: the result has another shape. What is
    found in a table is a vector, whatever the shape of the keys.
    """
    in_loops = [node for node in nodes if node.op.startswith(BOXES) and _is_in_loop(node)]
    by_rows = [node for node in nodes if node.op == SELECT]
    if by_rows:
        shapes = infer_shapes(by_rows[0].graph)
        by_rows = [node for node in by_rows if is_by_rows(*(shapes.shape(v).rank for v in node.inputs[:2]))]
    from_end = [[node for node in nodes if node.op == op and has_negative_axis(node)] for op in AXES]
    finds = [node for node in nodes if node.op in FINDS and not _is_reshaped(node)]
    if finds:
        shapes = infer_shapes(finds[0].graph)
        finds = [node for node in finds if shapes.shape(node.inputs[1]).rank not in (None, 1)]
    problems = [
        (in_loops, "boxes from a loop"),
        (by_rows, "a condition for each row"),
        (finds, "keys that are not a vector"),
    ]
    for op_nodes, what in (*problems, *((op_nodes, "a negative axis") for op_nodes in from_end)):
        if op_nodes:
            finding = TfjsUnsupportedNode(op=op_nodes[0].op, what=what)
            finding.nodes = op_nodes
            yield finding


CONVOLUTIONS, SLICE = ("Conv2D", "Conv3D"), "StridedSlice"
REDUCES = ("All", "Any", "Max", "Mean", "Min", "Prod", "Sum")
BATCHED = ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
SHAPED = (*CONVOLUTIONS, SLICE, *REDUCES, *BATCHED)
HALF, LONG = DType.parse("float16"), (INT32, INT64)


def _shapes(nodes: Sequence[Node], source: TfjsSource) -> Iterator[TfjsUnsupportedNode]:
    """What fails or is wrong by shapes and types together, as models of TensorFlow Lite showed.

    Convolutions have no groups of channels, only a batch of one matrix is repeated, slices of several axes
    have elements, a mean of nothing is 0, and float16 is float32, which holds more. On wasm, slices with
    steps are of float32 alone, reductions of nothing answer anything, and GatherV2 takes one batch.
    """
    wrong_nodes: dict[tuple[str, str], list[Node]] = {}
    shapes = infer_shapes(nodes[0].graph) if any(node.op in SHAPED for node in nodes) else None
    for node in nodes:
        sizes = [shapes.shape(value).dims or () for value in node.inputs] if shapes is not None else []
        what = _unsupported(node, sizes)
        if not what and source.backend == "wasm":
            what = _unsupported_on_wasm(node, sizes)
        if what:
            wrong_nodes.setdefault((node.op, what), []).append(node)
    for (op, what), wrong in wrong_nodes.items():
        finding = TfjsUnsupportedNode(op=op, what=what)
        finding.nodes = wrong
        yield finding


def _unsupported(node: Node, sizes: Sequence[Sequence[int | None]]) -> str:
    attrs = node.attrs
    if node.op in CONVOLUTIONS and sizes and attrs.get("data_format", "NHWC") in ("NHWC", "NDHWC"):
        x, kernel = sizes[:2]
        if x and kernel and None not in (x[-1], kernel[-2]) and x[-1] != kernel[-2]:
            return "groups of channels"
    if node.op == SLICE and (bounds := [constant(value) for value in node.inputs[1:3]]):
        begin, end = (None if bound is None else bound.numpy() for bound in bounds)
        if begin is not None and end is not None and begin.size > 1 and _crosses(node, begin, end):
            return "a result without elements"
    if node.op in BATCHED and sizes and has_unlike_batches(*sizes[:2]):
        return "batches that are broadcast"
    if node.op == "Mean" and sizes and 0 in sizes[0]:
        return "no elements"
    if node.op == "Cast" and attrs.get("DstT") == HALF and attrs.get("SrcT") in LONG:
        return f"SrcT={attrs['SrcT']} DstT=float16"
    return ""


def has_unlike_batches(left: Sequence[int | None], right: Sequence[int | None]) -> bool:
    """Whether batches of matrices are known to be broadcast, and none is of one matrix."""
    known = [[size for size in dims[:-2] if size is not None] for dims in (left, right)]
    if any(len(batch) != len(dims) - 2 for batch, dims in zip(known, (left, right), strict=True)):
        return False
    return known[0] != known[1] and all(math.prod(batch) != 1 for batch in known)


def _crosses(node: Node, begin: Any, end: Any) -> bool:
    """Whether a bound begins after its end, both counted from the start."""
    masks = int(node.attrs.get("begin_mask", 0)) | int(node.attrs.get("end_mask", 0))
    masks |= int(node.attrs.get("shrink_axis_mask", 0)) | int(node.attrs.get("new_axis_mask", 0))
    masks |= int(node.attrs.get("ellipsis_mask", 0))
    return _is_dense(node) and any(
        b > e >= 0 and not masks >> axis & 1 for axis, (b, e) in enumerate(zip(begin, end, strict=True))
    )


def _unsupported_on_wasm(node: Node, sizes: Sequence[Sequence[int | None]]) -> str:
    if node.op == SLICE and node.attrs.get("T") != FLOAT32 and not _is_dense(node):
        return f"steps and T={node.attrs.get('T')}"
    if node.op == "GatherV2" and node.attrs.get("batch_dims"):
        return f"batch_dims={node.attrs['batch_dims']}"
    return "no elements" if node.op in REDUCES and sizes and 0 in sizes[0] else ""


def _is_dense(node: Node) -> bool:
    """Whether a slice has steps of one."""
    steps = constant(node.inputs[3])
    return steps is not None and bool((steps.numpy() == 1).all())


WINDOW = "ksize"
POOLS = ("MaxPool", "AvgPool")


def _sizes(nodes: Sequence[Node], source: TfjsSource) -> Iterator[TfjsUnsupportedNode]:
    """Pools with a window that no recorded case answers rightly."""
    for op in POOLS:
        pools = [node for node in nodes if node.op == op and has_refused_window(node, source)]
        if pools:
            finding = TfjsUnsupportedNode(op=op, what=f"{WINDOW}={pools[0].attrs[WINDOW]}")
            finding.nodes = pools
            yield finding


def has_refused_window(node: Node, source: TfjsSource) -> bool:
    return source.refuses(node.op, WINDOW, node.attrs.get(WINDOW))


def is_window_of_one(node: Node) -> bool:
    """Whether a node is a pool that takes single elements."""
    if node.op not in POOLS or node.attrs.get("padding") == "EXPLICIT":
        return False
    window = node.attrs.get(WINDOW)
    return isinstance(window, list) and window == [1] * len(window)


def _is_reshaped(node: Node) -> bool:
    users = list(node.output(0).uses)
    return bool(users) and all(user.op == "Reshape" for user in users)


def has_negative_axis(node: Node) -> bool:
    """Whether a node of `AXES` counts an axis from the end."""
    axes = constant(node.inputs[AXES[node.op]])
    return axes is not None and bool((axes.numpy() < 0).any())


def is_by_rows(condition: int | None, values: int | None) -> bool:
    """Whether the ranks are those of a `Select` with a condition for each row."""
    return condition == 1 and values != 1


def _is_in_loop(node: Node) -> bool:
    return any(before.op == "Merge" for before in needed_by([node]))


def _problems(usage: Usage, source: TfjsSource, target: Target, resolver: Resolver) -> Iterator[TfjsFinding]:
    op = usage.op
    if isinstance(usage.nodes[0].graph, Function) and op in usage.nodes[0].graph.library.functions:
        return
    if not source.knows(op):
        yield TfjsUnknownOp(op=op, on=target)
    elif problem := source.problem(op):
        yield TfjsBrokenOp(op=op, on=target, problem=problem)
    elif missing := source.missing_kernels(op):
        yield TfjsMissingKernel(op=op, on=target, kernel=missing[0], backend=source.backend)
    else:
        for answer in resolver.unresolved(usage, target.registry, ("CPU",), 0):
            if answer.question in MATTERS:
                yield TfjsUnsupportedNode(op=op, on=target, what=_what(answer, usage))
        count = source.outputs(op)
        if count is not None and any(
            node.output(i).uses for node in usage.nodes for i in _others(node, count)
        ):
            yield TfjsUnsupportedNode(op=op, on=target, what=f"an output after the first {count}")


def _others(node: Node, count: int) -> range:
    return range(count, len(node.outputs))


def _what(answer: Unresolved, usage: Usage) -> str:
    if answer.question is Question.ATTR_VALUE:
        actual = answer.actual.decode() if isinstance(answer.actual, bytes) else answer.actual
        return f"{answer.attr}={actual}"
    types = [f"{name}={value}" for name, value in sorted(usage.attrs.items()) if _is_limited(name, answer)]
    return " ".join(types) or "its types"


def _is_limited(name: str, answer: Unresolved) -> bool:
    return any(name in kernel.constraints for kernel in answer.kernels)
