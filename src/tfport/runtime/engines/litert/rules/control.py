"""Branches and loops: subgraphs, which get what they read as inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.engines.litert.island_node import (
    IslandNode,
    IslandValue,
    NotInLite,
    constant_value,
    plain_order,
)
from tfport.runtime.engines.litert.lite_options import OPTIONS
from tfport.runtime.engines.litert.translator import GraphTranslator
from tfport.runtime.size_expression import SizeExpression


def branch(t: GraphTranslator, node: IslandNode) -> Sequence[IslandValue]:
    """If: both branches read the same tensors."""
    graphs = [node.attrs["then_branch"], node.attrs["else_branch"]]
    condition = node.first
    if condition.array is not None:
        chosen = graphs[0] if condition.constant().all() else graphs[1]
        return _inlined(t, chosen)
    names = _read(t, graphs)
    values = [t.out.as_tensor(_value(t, name)) for name in names]
    bodies = [_body(t, graph, names, values) for graph in graphs]
    results = [_joined(a, b) for a, b in zip(bodies[0].results, bodies[1].results, strict=True)]
    options = {"then_subgraph_index": bodies[0].number, "else_subgraph_index": bodies[1].number}
    scalar = t.out.reshaped(t.out.plain(condition), (), None, "bool") if condition.sizes else condition
    return t.out.add_all("IF", [scalar.tensor, *(t.out.plain(value) for value in values)], results, **options)


def _inlined(t: GraphTranslator, graph: pb.GraphProto) -> Sequence[IslandValue]:
    t.constants(graph)
    t.translate(graph.node)
    return [t.value(info.name) for info in graph.output]


class Body:
    """A written subgraph."""

    def __init__(self, number: int, results: list[tuple[list[int | None], str]]) -> None:
        self.number, self.results = number, results


def _body(
    t: GraphTranslator, graph: pb.GraphProto, names: Sequence[str], values: Sequence[IslandValue]
) -> Body:
    """A subgraph that reads these values, in the order of ONNX."""
    inner = t.inner()
    inner.values |= {name: value for name, value in t.values.items() if _is_constant(value)}
    fed = []
    for name, value in zip(names, values, strict=True):
        inner.values[name] = inner.out.input(_sizes(value), value.dtype)
        fed.append(inner.values[name].tensor)  # type: ignore[union-attr]
    inner.constants(graph)
    inner.translate(graph.node)
    outputs = [inner.value(info.name) for info in graph.output]
    written = [_copied(inner, value, fed) for value in outputs]
    return _written(t, inner, graph.name or "body", fed, outputs, written)


def _written(
    t: GraphTranslator,
    inner: GraphTranslator,
    name: str,
    fed: Sequence[int],
    outputs: Sequence[IslandValue],
    written: Sequence[int],
) -> Body:
    t.out.file.subgraphs.append(inner.out.model.subgraph(name, fed, written))
    return Body(len(t.out.file.subgraphs) - 1, [(_sizes(value), value.dtype) for value in outputs])


def _copied(inner: GraphTranslator, value: IslandValue, fed: Sequence[int]) -> int:
    """The tensor of a result, which must be neither an input nor a constant."""
    tensor = inner.out.plain(value)
    if tensor not in fed and value.array is None:
        return tensor
    return inner.out.reshaped(tensor, value.sizes, None, value.dtype).tensor


def _sizes(value: IslandValue) -> list[int | None]:
    return [None if isinstance(size, SizeExpression) else size for size in value.sizes]


def _joined(a: tuple[list[Any], str], b: tuple[list[Any], str]) -> tuple[list[Any], str]:
    if len(a[0]) != len(b[0]):
        raise NotInLite("branches with results of different rank")
    return [x if x == y else None for x, y in zip(a[0], b[0], strict=True)], a[1]


def _is_constant(value: IslandValue | None) -> bool:
    return value is None or (value.array is not None and not value.is_of_sizes)


def _value(t: GraphTranslator, name: str) -> IslandValue:
    value = t.value(name)
    return t.out.computed(value) if value.is_of_sizes else value


def _read(t: GraphTranslator, graphs: Sequence[pb.GraphProto]) -> list[str]:
    """The names of values outside that graphs read, except constants."""
    names: dict[str, None] = {}
    for graph in graphs:
        own = {tensor.name for tensor in graph.initializer} | {info.name for info in graph.input}
        for node in graph.node:
            inner = [a.g for a in node.attribute if a.type == pb.AttributeProto.GRAPH]
            reads = [*node.input, *(name for g in inner for name in _free(g))]
            names |= dict.fromkeys(name for name in reads if name and name not in own)
            own.update(node.output)
        names |= dict.fromkeys(info.name for info in graph.output if info.name not in own)
    return [name for name in names if not _is_constant(t.value(name))]


def _free(graph: pb.GraphProto) -> list[str]:
    own = {tensor.name for tensor in graph.initializer} | {info.name for info in graph.input}
    free: dict[str, None] = {}
    for node in graph.node:
        inner = [a.g for a in node.attribute if a.type == pb.AttributeProto.GRAPH]
        reads = [*node.input, *(name for g in inner for name in _free(g))]
        free |= dict.fromkeys(name for name in reads if name and name not in own)
        own.update(node.output)
    free |= dict.fromkeys(info.name for info in graph.output if info.name not in own)
    return list(free)


def loop(t: GraphTranslator, node: IslandNode) -> Sequence[IslandValue]:
    """Loop: a counter, a condition, the carried values, and what the body reads outside."""
    graph: pb.GraphProto = node.attrs["body"]
    limit, condition, *carried = node.inputs
    count = len(carried)
    if len(graph.output) - 1 > count:
        raise NotInLite("Loop that collects the results of each step")
    names = _read(t, [graph])
    counter = t.out.as_tensor(constant_value(np.array(0, np.int64)))
    flag = t.out.as_tensor(condition or constant_value(np.array(True)))
    most = t.out.as_tensor(_number(t, limit) if limit else constant_value(np.array(2**62, np.int64)))
    start = [t.out.as_tensor(_tensor(t, value)) for value in carried]
    outside = [t.out.as_tensor(_value(t, name)) for name in names]
    state = [_scalar(t, counter), _scalar(t, flag), _scalar(t, most), *start, *outside]
    sizes = [_sizes(value) for value in state]
    while True:
        body, results = _step(t, graph, names, state, sizes)
        wider = [
            [a if a == b else None for a, b in zip(x, y, strict=True)]
            for x, y in zip(sizes, results, strict=True)
        ]
        if wider == sizes:
            break
        sizes = wider
    test = _test(t, state, sizes)
    options = {"cond_subgraph_index": test, "body_subgraph_index": body}
    t.out.model.operator  # noqa: B018
    results = t.out.add_all(
        "WHILE",
        [t.out.plain(value) for value in state],
        [(size, value.dtype) for size, value in zip(sizes, state, strict=True)],
        **options,
    )
    assert OPTIONS["WHILE"]
    return results[3 : 3 + count]


def _tensor(t: GraphTranslator, value: IslandValue | None) -> IslandValue:
    if value is None:
        raise NotInLite("Loop without a start")
    return t.out.computed(value) if value.is_of_sizes else value


def _number(t: GraphTranslator, value: IslandValue) -> IslandValue:
    return _tensor(t, value)


def _scalar(t: GraphTranslator, value: IslandValue) -> IslandValue:
    return t.out.reshaped(value.tensor, (), None, value.dtype) if value.sizes else value


def _step(
    t: GraphTranslator,
    graph: pb.GraphProto,
    names: Sequence[str],
    state: Sequence[IslandValue],
    sizes: Sequence[list[int | None]],
) -> tuple[int, list[list[int | None]]]:
    inner = t.inner()
    out = inner.out
    inner.values |= {name: value for name, value in t.values.items() if _is_constant(value)}
    fed = [out.input(size, value.dtype) for size, value in zip(sizes, state, strict=True)]
    counter, flag, most, *others = fed
    inputs = [info.name for info in graph.input]
    inner.values |= dict(zip(inputs, [counter, flag, *others], strict=False))
    inner.values |= dict(zip(names, others[len(inputs) - 2 :], strict=True))
    inner.constants(graph)
    inner.translate(graph.node)
    results = [inner.value(info.name) for info in graph.output]
    one = out.as_tensor(constant_value(np.array(1, np.int64)))
    following = out.add("ADD", [counter.tensor, one.tensor], (), dtype="int64")
    next_flag = results[0]
    if next_flag.sizes:
        next_flag = out.reshaped(out.plain(next_flag), (), None, "bool")
    kept = others[len(inputs) - 2 :]
    after = [following, next_flag, most, *results[1:], *kept]
    tensors = [value.tensor for value in fed]
    passed = {most.tensor, *(value.tensor for value in kept)}
    written = [
        value.tensor if value.array is None and value.tensor in passed else _copied(inner, value, tensors)
        for value in after
    ]
    t.out.file.subgraphs.append(out.model.subgraph("body", tensors, written))
    return len(t.out.file.subgraphs) - 1, [_sizes(value) for value in after]


def _test(t: GraphTranslator, state: Sequence[IslandValue], sizes: Sequence[list[int | None]]) -> int:
    inner = t.inner()
    out = inner.out
    fed = [out.input(size, value.dtype) for size, value in zip(sizes, state, strict=True)]
    counter, flag, most, *_ = fed
    less = out.add("LESS", [counter.tensor, most.tensor], plain_order(()), dtype="bool")
    both = out.add("LOGICAL_AND", [less.tensor, flag.tensor], (), dtype="bool")
    t.out.file.subgraphs.append(
        out.model.subgraph("condition", [value.tensor for value in fed], [both.tensor])
    )
    return len(t.out.file.subgraphs) - 1
