"""Measure converting a large graph to a Graph and back to bytes, in nodes per second.

    python benchmarks/graph_build.py [NODES]       default: 100,000

The graph is a chain of convolution blocks with constants, shapes and control edges, with one node in ten
inside functions, as in exported models.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from tfport.atlas.known_ops import known_ops
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.build import graph_from_def, graph_to_def
from tfport.graph.op_signature import OpTable
from tfport.graph.reach import in_order, needed_by

FLOAT = pb.AttrValue(type=pb.DT_FLOAT)
SHAPE = pb.AttrValue(list={"shape": [{"dim": [{"size": -1}, {"size": 64}]}]})
VALUE = pb.AttrValue(
    tensor={"dtype": pb.DT_FLOAT, "tensor_shape": {"dim": [{"size": 4}]}, "tensor_content": bytes(16)}
)
CONV = {
    "T": FLOAT, "strides": pb.AttrValue(list={"i": [1, 2, 2, 1]}), "padding": pb.AttrValue(s=b"SAME"),
    "data_format": pb.AttrValue(s=b"NHWC"), "use_cudnn_on_gpu": pb.AttrValue(b=True),
    "explicit_paddings": pb.AttrValue(list={}), "_output_shapes": SHAPE,
}  # fmt: skip
BLOCK = (  # name, op, inputs, attributes
    ("kernel", "Const", (), {"dtype": FLOAT, "value": VALUE}),
    ("conv", "Conv2D", ("{x}", "kernel"), CONV),
    ("offset", "Const", ("^conv",), {"dtype": FLOAT, "value": VALUE}),
    ("bias", "BiasAdd", ("conv", "offset"), {"T": FLOAT, "_output_shapes": SHAPE}),
    ("relu", "Relu", ("bias",), {"T": FLOAT, "_output_shapes": SHAPE}),
)
PORTS = {"Const": "output", "Conv2D": "output", "BiasAdd": "output", "Relu": "activations"}


def write_blocks(into: Any, blocks: int, first: str, *, ports: bool) -> str:
    """Append blocks to a graph or function body; return the name of the last result."""
    ops = {name: op for name, op, _, _ in BLOCK}
    x = first
    for i in range(blocks):
        for name, op, reads, attrs in BLOCK:
            node = into.add(name=f"block_{i}/{name}", op=op)
            for read in reads:
                base = read.lstrip("^")
                place = f":{PORTS[ops[base]]}:0" if ports and base in ops and read == base else ""
                node.input.append(x if read == "{x}" else f"{read[: -len(base)]}block_{i}/{base}{place}")
            for key, value in attrs.items():
                node.attr[key].CopyFrom(value)
        x = f"block_{i}/relu" + (":activations:0" if ports else "")
    return x


def large(nodes: int) -> pb.GraphDef:
    """Return a GraphDef of about this many nodes."""
    record = pb.GraphDef(versions={"producer": 2000})
    record.node.add(name="x", op="Placeholder").attr["dtype"].CopyFrom(FLOAT)
    write_blocks(record.node, nodes * 9 // 10 // len(BLOCK), "x", ports=False)
    function = record.library.function.add()
    function.signature.name = "body"
    function.signature.input_arg.add(name="x", type=pb.DT_FLOAT)
    function.signature.output_arg.add(name="y", type=pb.DT_FLOAT)
    function.ret["y"] = write_blocks(function.node_def, nodes // 10 // len(BLOCK), "x", ports=True)
    return record


def timed(what: str, nodes: int, work: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    result = work()
    took = time.perf_counter() - start
    print(f"{what:16} {took:7.2f} s {nodes / took:12,.0f} nodes/s")
    return result


def main(nodes: int) -> None:
    data = large(nodes).SerializeToString()
    print(f"{nodes:,} nodes, {len(data) / 1e6:.1f} MB")
    ops = OpTable(known_ops())
    record = timed("bytes to record", nodes, lambda: pb.GraphDef.FromString(data))
    graph = timed("record to Graph", nodes, lambda: graph_from_def(record, ops))
    written = timed("Graph to record", nodes, lambda: graph_to_def(graph))
    timed("record to bytes", nodes, written.SerializeToString)
    timed("in_order", nodes, lambda: in_order(graph))
    half = list(graph)[len(graph) // 2]
    timed("prune to half", nodes, lambda: graph.prune(needed_by([half])))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
