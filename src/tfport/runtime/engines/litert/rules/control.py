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
)
from tfport.runtime.engines.litert.lite_scribe import LiteScribe
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
    options: dict[str, Any] = {
        "then_subgraph_index": bodies[0].number,
        "else_subgraph_index": bodies[1].number,
    }
    scalar = t.out.reshaped(t.out.plain(condition), (), None, "bool") if condition.sizes else condition
    return t.out.add_all("IF", [scalar.tensor, *(t.out.plain(value) for value in values)], results, **options)


def _inlined(t: GraphTranslator, graph: pb.GraphProto) -> Sequence[IslandValue]:
    t.constants(graph)
    t.translate(graph.node)
    return [t.value(info.name) for info in graph.output]


class LiteBody:
    """A written subgraph."""

    def __init__(self, number: int, results: list[tuple[list[int | None], str]]) -> None:
        self.number, self.results = number, results


def _body(
    t: GraphTranslator, graph: pb.GraphProto, names: Sequence[str], values: Sequence[IslandValue]
) -> LiteBody:
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
) -> LiteBody:
    t.out.file.subgraphs.append(inner.out.model.subgraph(name, fed, written))
    return LiteBody(len(t.out.file.subgraphs) - 1, [(_sizes(value), value.dtype) for value in outputs])


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
    """Loop: a counter, a condition, carried values, what is collected, and what the body reads outside."""
    graph: pb.GraphProto = node.attrs["body"]
    limit, condition, *carried = node.inputs
    names = _read(t, [graph])
    start = [constant_value(np.array(0, np.int64)), condition or constant_value(np.array(True))]
    start += [limit or constant_value(np.array(MOST_STEPS, np.int64))]
    state = [_scalar(t, value) for value in start]
    state += [t.out.as_tensor(_tensor(t, value)) for value in carried]
    outside = [t.out.as_tensor(_value(t, name)) for name in names]
    sizes = [_sizes(value) for value in (*state, *outside)]
    written = len(t.out.file.subgraphs)
    collected: list[tuple[list[int | None], str]] = []
    while True:
        body = LiteLoopBody(t, graph, names, len(carried), collected)
        after = body.write([*state, *outside], sizes)
        wider = [_common(*pair) for pair in zip(sizes, after, strict=True)]
        if wider == sizes and body.collected == collected:
            break
        sizes, collected = wider, body.collected
        del t.out.file.subgraphs[written:]
    state += [_first_row(t, own, dtype) for own, dtype in collected]
    sizes = [*sizes[: 3 + len(carried)], *([None, *own] for own, _ in collected), *sizes[3 + len(carried) :]]
    state += outside
    results = t.out.add_all(
        "WHILE",
        [t.out.plain(value) for value in state],
        [(size, value.dtype) for size, value in zip(sizes, state, strict=True)],
        cond_subgraph_index=_test(t, state, sizes),
        body_subgraph_index=len(t.out.file.subgraphs) - 2,
    )
    last = 3 + len(carried)
    return [*results[3:last], *(_other_rows(t, value) for value in results[last : last + len(collected)])]


MOST_STEPS = 2**62


def _common(first: list[int | None], second: list[int | None]) -> list[int | None]:
    if len(first) != len(second):
        raise NotInLite("Loop that changes the rank of a value")
    return [a if a == b else None for a, b in zip(first, second, strict=True)]


def _first_row(t: GraphTranslator, sizes: Sequence[int | None], dtype: str) -> IslandValue:
    """What is there before anything is collected: a row, as WHILE takes no empty tensors.

    If the size of a row is unknown, it has one element, which is repeated when that is known.
    """
    zero = t.out.array(np.zeros((), dtype))
    known = [1 if size is None else size for size in sizes]
    return t.out.add("FILL", [t.out.ints(1, *known), zero], (1, *sizes), dtype=dtype)


def _other_rows(t: GraphTranslator, value: IslandValue) -> IslandValue:
    rest = len(value.sizes) - 1
    bounds = [t.out.ints(1, *[0] * rest), t.out.ints(*[-1] * (rest + 1))]
    return t.out.add("SLICE", [value.tensor, *bounds], (None, *value.sizes[1:]), dtype=value.dtype)


def _tensor(t: GraphTranslator, value: IslandValue | None) -> IslandValue:
    if value is None:
        raise NotInLite("Loop without a start")
    return t.out.computed(value) if value.is_of_sizes else value


def _scalar(t: GraphTranslator, value: IslandValue) -> IslandValue:
    tensor = t.out.as_tensor(_tensor(t, value))
    return t.out.reshaped(tensor.tensor, (), None, value.dtype) if tensor.sizes else tensor


class LiteLoopBody:
    """The subgraph of one step; a first attempt shows the sizes of what it collects."""

    def __init__(
        self,
        t: GraphTranslator,
        graph: pb.GraphProto,
        names: Sequence[str],
        carried: int,
        collected: Sequence[tuple[list[int | None], str]],
    ) -> None:
        self._t, self._graph, self._names, self._carried = t, graph, names, carried
        self._expected = collected
        self.collected: list[tuple[list[int | None], str]] = []

    def write(
        self, state: Sequence[IslandValue], sizes: Sequence[list[int | None]]
    ) -> list[list[int | None]]:
        """Add the subgraph; returns the sizes of the state after a step, without what is collected."""
        inner, first = self._t.inner(), 3 + self._carried
        out = inner.out
        inner.values |= {name: value for name, value in self._t.values.items() if _is_constant(value)}
        fed = [out.input(size, value.dtype) for size, value in zip(sizes, state, strict=True)]
        so_far = [out.input([None, *own], dtype) for own, dtype in self._expected]
        counter, flag, most, *others = fed
        inputs = [info.name for info in self._graph.input]
        inner.values |= dict(zip(inputs, [counter, flag, *others], strict=False))
        inner.values |= dict(zip(self._names, fed[first:], strict=True))
        inner.constants(self._graph)
        inner.translate(self._graph.node)
        results = [inner.value(info.name) for info in self._graph.output]
        step = out.array(np.array(1, np.int64))
        following = out.add("ADD", [counter.tensor, step], (), dtype="int64")
        go_on = _scalar(inner, results[0])
        after = [following, go_on, most, *results[1 : 1 + self._carried], *fed[first:]]
        new = results[1 + self._carried :]
        self.collected = [(_sizes(value), value.dtype) for value in new]
        joined = [_joined_to(out, a, b) for a, b in zip(so_far, new, strict=False)]
        inside = [*fed[:first], *so_far, *fed[first:]]
        tensors = [value.tensor for value in inside]
        passed = {most.tensor, *(value.tensor for value in fed[first:])}
        written = [
            value.tensor if value.array is None and value.tensor in passed else _copied(inner, value, tensors)
            for value in (*after[:first], *joined, *after[first:])
        ]
        self._t.out.file.subgraphs.append(out.model.subgraph("body", tensors, written))
        return [_sizes(value) for value in after]


def _joined_to(out: LiteScribe, collected: IslandValue, value: IslandValue) -> IslandValue:
    """What is collected with a row more; what was there first gets the size of a row if that is unknown."""
    tensor = out.as_tensor(value)
    row = out.reshaped(out.plain(tensor), (1, *value.sizes), None, value.dtype)
    sizes = (None, *collected.sizes[1:])
    if not all(isinstance(size, int) for size in collected.sizes[1:]):
        wanted = (collected.sizes[0], *value.sizes)
        collected = out.add("BROADCAST_TO", [collected.tensor, out.sizes(wanted)], wanted, dtype=value.dtype)
    return out.add("CONCATENATION", [collected.tensor, row.tensor], sizes, dtype=value.dtype, axis=0)


def _test(t: GraphTranslator, state: Sequence[IslandValue], sizes: Sequence[Sequence[int | None]]) -> int:
    inner = t.inner()
    out = inner.out
    fed = [out.input(size, value.dtype) for size, value in zip(sizes, state, strict=True)]
    counter, flag, most, *_ = fed
    less = out.add("LESS", [counter.tensor, most.tensor], (), dtype="bool")
    both = out.add("LOGICAL_AND", [less.tensor, flag.tensor], (), dtype="bool")
    inputs = [value.tensor for value in fed]
    t.out.file.subgraphs.append(out.model.subgraph("condition", inputs, [both.tensor]))
    return len(t.out.file.subgraphs) - 1
