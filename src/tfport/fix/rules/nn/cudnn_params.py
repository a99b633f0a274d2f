"""The one vector in which cuDNN keeps the weights of its layers: its size, what it is made of, its parts."""

from __future__ import annotations

import numpy as np

from tfport.errors import CannotRun
from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.graph.graph import Node
from tfport.runtime.ops.nn.cudnn_params import Form


@rule("CudnnRNNParamsSize", keeps=EXACT)
def counted_beforehand(op: NodeBuilder, n: Node) -> Replacement:
    """The size of the vector of weights follows from sizes that are known."""
    return op.const(np.array([_form(op, n).size]), n.attrs["S"])


@rule("CudnnRNNCanonicalToParams CudnnRNNCanonicalToParamsV2", keeps=EXACT)
def one_after_another(op: NodeBuilder, n: Node) -> Replacement:
    """The vector of weights is all matrices, row by row, and then all biases."""
    _form(op, n)
    return op.ConcatV2([op.Reshape(value, [-1]) for value in n.inputs[3:]], 0)


@rule("CudnnRNNParamsToCanonical CudnnRNNParamsToCanonicalV2", keeps=EXACT)
def split_into_parts(op: NodeBuilder, n: Node) -> Replacement:
    """The vector of weights is all matrices, row by row, and then all biases."""
    form = _form(op, n)
    shapes: list[tuple[int, ...]] = [*form.matrices(), *[(form.units,)] * form.biases]
    if len(shapes) != len(n.outputs):
        return refuse(f"there are {len(shapes)} matrices and biases, not {len(n.outputs)}")
    sizes = [int(np.prod(shape)) for shape in shapes]
    parts = op.SplitV(op.Reshape(n.inputs[3], [-1]), sizes, 0, num_split=len(sizes))
    return [
        op.Reshape(parts.output(i), list(shape)) if len(shape) == 2 else parts.output(i)
        for i, shape in enumerate(shapes)
    ]


def _form(op: NodeBuilder, n: Node) -> Form:
    if n.attrs.get("num_proj"):
        raise refuse(f"num_proj={n.attrs['num_proj']} projects the state of an LSTM")
    sizes = [op.constant(value) for value in n.inputs[:3]]
    if any(size is None for size in sizes):
        raise refuse("the sizes of the layers are not known")
    layers, units, inputs = (int(np.reshape(size, ())) for size in sizes if size is not None)
    a = n.attrs
    try:
        return Form.of(a["rnn_mode"], a["input_mode"], a["direction"], layers, units, inputs)
    except CannotRun as error:
        raise refuse(str(error)) from None
