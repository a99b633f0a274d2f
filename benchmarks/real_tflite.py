"""Convert the frozen GraphDef of a job to a `.tflite` file with TensorFlow: `real_tflite.py JOB.json OUT`.

The converter does not know fused nodes, which TF.js models have; they are separated first.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

PARTS = {"_FusedConv2D": "Conv2D", "_FusedMatMul": "MatMul"}
OF_FUSION = ("fused_ops", "num_args", "TArgs", "epsilon", "leakyrelu_alpha", "filter_format")
"""Attributes that only the fused nodes have."""


def separated(node: Any) -> Iterator[Any]:
    """A node, or the nodes that were fused: a product, its bias and an activation."""
    if node.op not in PARTS:
        yield node
        return
    inputs, arguments = list(node.input[:2]), list(node.input[2:])
    steps = [PARTS[node.op], *(op.decode() for op in node.attr["fused_ops"].list.s)]
    for number, op in enumerate(steps):
        last = number == len(steps) - 1
        made = tf.compat.v1.NodeDef(op=op, name=node.name if last else f"{node.name}/part{number}")
        made.attr["T"].CopyFrom(node.attr["T"])
        if number == 0:
            for name, value in node.attr.items():
                if name not in OF_FUSION:
                    made.attr[name].CopyFrom(value)
        elif op == "BiasAdd":
            inputs.append(arguments.pop(0))
        elif op == "LeakyRelu":
            made.attr["alpha"].CopyFrom(node.attr["leakyrelu_alpha"])
        made.input.extend(inputs)
        yield made
        inputs = [made.name]


def main(job_path: str, out: str) -> None:
    """The sizes are those of the inputs of the job: LiteRT plans its memory before the first run."""
    job = json.loads(Path(job_path).read_text())
    with np.load(job["inputs"], allow_pickle=False) as file:
        shapes = {feed.removesuffix(":0"): file[f"{i}"].shape for i, feed in enumerate(job["feeds"])}
    frozen = tf.compat.v1.GraphDef.FromString(Path(job["frozen"]).read_bytes())
    plain = tf.compat.v1.GraphDef(versions=frozen.versions)
    plain.node.extend(part for node in frozen.node for part in separated(node))
    path = Path(out).with_suffix(".pb")
    path.write_bytes(plain.SerializeToString())
    fetches = [fetch.removesuffix(":0") for fetch in job["fetches"]]
    convert = tf.compat.v1.lite.TFLiteConverter.from_frozen_graph
    Path(out).write_bytes(convert(str(path), list(shapes), fetches, shapes).convert())


if __name__ == "__main__":
    main(*sys.argv[1:])
