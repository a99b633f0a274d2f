"""The weight vector of cuDNN layers: its size, packing and unpacking."""

from __future__ import annotations

import numpy as np

from tfport.errors import CannotRun
from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.graph.graph import Node
from tfport.runtime.ops.nn.cudnn_params import CudnnRnnConfig


@rule("CudnnRNNParamsSize", keeps=EXACT)
def counted_beforehand(op: NodeBuilder, n: Node) -> Replacement:
    """The size of the weight vector is computed from constant sizes."""
    return op.const(np.array([_form(op, n).size]), n.attrs["S"])


@rule("CudnnRNNCanonicalToParams CudnnRNNCanonicalToParamsV2", keeps=EXACT)
def one_after_another(op: NodeBuilder, n: Node) -> Replacement:
    """The weight vector has all matrices, row by row, and then all biases."""
    _form(op, n)
    return op.ConcatV2([op.Reshape(value, [-1]) for value in n.inputs[3:]], 0)


@rule("CudnnRNNParamsToCanonical CudnnRNNParamsToCanonicalV2", keeps=EXACT)
def split_into_parts(op: NodeBuilder, n: Node) -> Replacement:
    """The weight vector has all matrices, row by row, and then all biases."""
    form = _form(op, n)
    shapes: list[tuple[int, ...]] = [*form.matrices(), *[(form.units,)] * form.biases]
    if len(shapes) != len(n.outputs):
        return refuse(f"it has {len(n.outputs)} outputs; expected {len(shapes)} matrices and biases")
    sizes = [int(np.prod(shape)) for shape in shapes]
    parts = op.SplitV(op.Reshape(n.inputs[3], [-1]), sizes, 0, num_split=len(sizes))
    return [
        op.Reshape(parts.output(i), list(shape)) if len(shape) == 2 else parts.output(i)
        for i, shape in enumerate(shapes)
    ]


def _form(op: NodeBuilder, n: Node) -> CudnnRnnConfig:
    if n.attrs.get("num_proj"):
        raise refuse(f"num_proj={n.attrs['num_proj']} is not supported")
    sizes = [op.constant(value) for value in n.inputs[:3]]
    if any(size is None for size in sizes):
        raise refuse("the sizes of its layers are unknown")
    layers, units, inputs = (int(np.reshape(size, ())) for size in sizes if size is not None)
    a = n.attrs
    try:
        return CudnnRnnConfig.of(a["rnn_mode"], a["input_mode"], a["direction"], layers, units, inputs)
    except CannotRun as error:
        raise refuse(str(error)) from None
