"""Indices that a GPU reads, checked: one that is out of range must not reach its kernels.

A kernel of ONNX Runtime's CUDA provider that reads outside of a tensor ends the process, or leaves the GPU
unusable to it. `with_checked_indices` replaces such indices by 0 and adds a flag to the outputs of the model;
`check_flags` raises EngineFailed, so that the host computes the answer, or says what is wrong.
Inside of loops and branches indices are only replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.engines.engine import EngineFailed
from tfport.runtime.program import ONNX_TYPES

ALONG_AXIS = frozenset(["Gather", "GatherElements", "ScatterElements"])
BY_COORDINATES = frozenset(["GatherND", "ScatterND"])
FLAG = "out_of_range@flag"


def with_checked_indices(model: bytes) -> tuple[bytes, bool]:
    """The model with checked indices, and whether its last output is the flag."""
    whole = pb.ModelProto.FromString(model)
    flags = list(_check(whole.graph, {tensor.name for tensor in whole.graph.initializer}))
    if not any(flags):
        return model, False
    writer = _Writer(whole.graph, FLAG)
    flag = flags[0]
    for other in flags[1:]:
        flag = writer.node("Or", [flag, other])
    whole.graph.node.add(op_type="Identity", input=[flag], output=[FLAG], name=FLAG)
    whole.graph.output.add(name=FLAG).type.tensor_type.elem_type = ONNX_TYPES["bool"]
    return whole.SerializeToString(), True


def check_flags(flags: Sequence[Any]) -> None:
    if any(bool(flag) for flag in flags):
        raise EngineFailed("an index is out of range")


def _check(graph: pb.GraphProto, constants: set[str]) -> Iterator[str]:
    """Replace the indices of a graph; the names of its flags."""
    nodes, flags = list(graph.node), []
    del graph.node[:]
    for node in nodes:
        for attribute in node.attribute:
            if attribute.type == pb.AttributeProto.GRAPH:
                inner = {tensor.name for tensor in attribute.g.initializer}
                list(_check(attribute.g, constants | inner))
        if node.op_type in ALONG_AXIS | BY_COORDINATES and node.input[1] not in constants:
            flags.append(_replace(graph, node))
        graph.node.add().CopyFrom(node)
    return iter(flags)


def _replace(graph: pb.GraphProto, node: pb.NodeProto) -> str:
    """Add the nodes that check the indices of a node, and let it read the checked ones."""
    writer = _Writer(graph, node.output[0])
    data, indices = node.input[0], node.input[1]
    sizes = writer.node("Shape", [data])
    if node.op_type in ALONG_AXIS:
        axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
        size = writer.node("Gather", [sizes, writer.constant(axis)])
    else:  # the last axis of the indices is a coordinate for each of the first axes, after batch axes
        batch = next((a.i for a in node.attribute if a.name == "batch_dims"), 0)
        depth = writer.node("Gather", [writer.node("Shape", [indices]), writer.constants([-1])])
        end = writer.node("Add", [depth, writer.constants([batch])])
        size = writer.node("Slice", [sizes, writer.constants([batch]), end])
    wide = writer.node("Cast", [indices], to=ONNX_TYPES["int64"])
    below = writer.node("Less", [wide, writer.node("Neg", [size])])
    above = writer.node("GreaterOrEqual", [wide, size])
    wrong = writer.node("Or", [below, above])
    zero = writer.node("CastLike", [writer.constant(0), indices])
    node.input[1] = writer.node("Where", [wrong, zero, indices])
    count = writer.node("ReduceMax", [writer.node("Cast", [wrong], to=ONNX_TYPES["int32"])], keepdims=0)
    return writer.node("Cast", [count], to=ONNX_TYPES["bool"])


class _Writer:
    """Adds nodes and constants with names of their own to a graph."""

    def __init__(self, graph: pb.GraphProto, prefix: str) -> None:
        self._graph, self._prefix, self._count = graph, prefix, 0

    def node(self, op: str, inputs: Sequence[str], **attrs: int) -> str:
        output = self._name()
        node = self._graph.node.add(op_type=op, input=inputs, output=[output], name=f"{op}:{output}")
        for name, value in attrs.items():
            node.attribute.add(name=name, type=pb.AttributeProto.INT, i=value)
        return output

    def constant(self, value: int) -> str:
        return self._tensor([value], [])

    def constants(self, values: Sequence[int]) -> str:
        return self._tensor(values, [len(values)])

    def _tensor(self, values: Sequence[int], dims: Sequence[int]) -> str:
        name = self._name()
        tensor = self._graph.initializer.add(name=name, dims=dims, data_type=ONNX_TYPES["int64"])
        tensor.raw_data = np.array(values, np.int64).tobytes()
        return name

    def _name(self) -> str:
        self._count += 1
        return f"{self._prefix}@index{self._count}"
