"""Attention written as products around a softmax, as one node `MultiHeadAttention` of ONNX Runtime.

    softmax(q · kᵀ · scale + mask) · v        q, k and v: [batch, positions, heads, size]

On a GPU one kernel computes it, and the products of all pairs of positions never reach the memory. The
projections stay products of their own; what they add is given to the node. Where queries, keys and values
come from the same input, one product computes all three:

    MultiHeadAttention(x · q, x · k, x · v)  →  MultiHeadAttention(x · w)

The columns of `w` are those of q, k and v, head by head: [heads, 3, size]. ONNX Runtime has that form only on
a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfport.graph.dtypes import FLOAT32, INT64
from tfport.runtime.onnx.model import CONTRIB
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.passes.drawn_pattern import Drawn, Match, Ops, draw
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.pass_list import Condition, IslandUse, PassTarget, island_pass
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass

ATTENTION = "MultiHeadAttention"
OFFSETS = 3
"""The index among its inputs of what is added to queries, keys and values, which come before."""
HEADS_FIRST, KEYS = [0, 2, 1, 3], [0, 2, 3, 1]
"""How queries and values, and how keys are transposed before their products."""
_LAST = (-1, 3)
_SAME = 0
"""In the target of Reshape: the size of the input."""
PARTS = 3
"""Queries, keys and values."""
MAX_WIDTH = 1024
"""Numbers of all heads together, up to which the kernel has this form."""


@dataclass(frozen=True, slots=True)
class _Projected:
    """Queries, keys or values as [batch, positions, heads · size], and what is still to be added."""

    operand: Operand
    heads: int
    size: int
    offset: Operand | None
    nodes: tuple[OnnxNode, ...] = ()

    def offset_array(self) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        if self.offset is None or self.offset.array is None:
            return np.zeros(self.heads * self.size, np.float32)
        return self.offset.array.reshape(-1)


def _packs(target: PassTarget) -> bool:
    return target.form.packs_attention and target.use in (None, IslandUse.CONVOLUTIONS_APART)


def _transposed(op: Ops, x: Drawn, perm: list[int]) -> Drawn:
    return op.Transpose(x).where(lambda node: list(node.attrs.get("perm", ())) == perm)


def _drawing(op: Ops, q: Drawn, k: Drawn, v: Drawn, mask: Drawn, scale: Drawn) -> Drawn:
    pairs = op.MatMul(_transposed(op, q, HEADS_FIRST), _transposed(op, k, KEYS)).named("pairs")
    scaled, divided = (pairs * scale).named("scaled"), op.Div(pairs, scale).named("divided")
    scores = op.either(scaled, divided, pairs)
    softmax = op.Softmax(op.either(scores + mask, scores)).where(lambda n: n.attrs.get("axis", -1) in _LAST)
    return _transposed(op, op.MatMul(softmax, _transposed(op, v, HEADS_FIRST)), HEADS_FIRST)


def _mask_fits(match: Match) -> bool:
    scores = next(match.bound[name] for name in ("scaled", "divided", "pairs") if match.has(name))
    return not match.has("mask") or _fits(match.mask.shape, scores.shape)


def _scale(match: Match) -> float | None:
    """What scores are multiplied by; None if it is not one number."""
    array = match.scale.array if match.has("scale") else np.ones(())
    if array is None or array.size != 1 or array.ndim > (match.pairs.rank or 0):
        return None
    number = float(array.reshape(()))
    return (1 / number if number else None) if match.has("divided") else number


ATTENDED = draw(_drawing, constants="scale", accepts=_mask_fits)


@island_pass(when=Condition("on GPUs with a kernel for it", lambda t: t.form.fuses_attention), bodies=False)
def fused_attention(graph: IslandGraph) -> None:
    """Products around a softmax are one MultiHeadAttention."""
    for match in graph.match(ATTENDED):
        q, k, v = (_projected(operand, graph) for operand in (match.q, match.k, match.v))
        if (scale := _scale(match)) is None or q is None or k is None or v is None:
            continue
        if (q.heads, q.size, q.heads) != (k.heads, k.size, v.heads):
            continue
        mask = match.mask if match.has("mask") else None
        attention, reshape = _node(match.output, q, k, v, scale, mask)
        if graph.target.has_kernel(attention):
            graph.replace(match.node, *q.nodes, *k.nodes, *v.nodes, attention, reshape)


@island_pass(when=Condition("on GPUs whose kernel takes it", _packs), bodies=False)
def packed_attention(graph: IslandGraph) -> None:
    """Queries, keys and values of an attention that come from one input are one product."""
    for node in graph.nodes:
        packed = _packed(node, graph) if node.op == ATTENTION else None
        if packed is not None:
            graph.replace(node, *packed)


def _node(
    output: Operand, q: _Projected, k: _Projected, v: _Projected, scale: float, mask: Operand | None
) -> list[OnnxNode]:
    inputs: list[Operand | None] = [q.operand, k.operand, v.operand]
    if any(part.offset is not None for part in (q, k, v)):
        offsets = np.concatenate([part.offset_array() for part in (q, k, v)])
        inputs.append(Operand(FLOAT32, value=offsets, name="offsets"))
    if mask is not None:
        inputs += [None] * (5 - len(inputs)) + [mask]
    shape = output.shape
    joined = Operand(FLOAT32, (*shape[:2], v.heads * v.size) if shape else None, name="attention")
    attrs = {"num_heads": q.heads, "scale": scale}
    attention = OnnxNode(ATTENTION, tuple(inputs), (joined,), attrs, CONTRIB)
    return [attention, _reshape(joined, output, [_SAME, _SAME, v.heads, v.size])]


def _reshape(operand: Operand, output: Operand, sizes: Sequence[int]) -> OnnxNode:
    target = Operand(INT64, value=np.array(sizes, np.int64), name="sizes")
    return OnnxNode("Reshape", (operand, target), (output,), {})


def _fits(mask: Dims | None, scores: Dims | None) -> bool:
    """Whether a mask has all pairs of positions, and each batch and head or one for all."""
    if mask is None or scores is None or len(mask) != len(scores):
        return False
    all_pairs = None not in scores[2:] and mask[2:] == scores[2:]
    return all_pairs and mask[0] in (1, scores[0]) and mask[1] in (1, scores[1])


def _projected(parts: Operand, graph: IslandGraph) -> _Projected | None:
    if parts.shape is None or parts.dtype != FLOAT32:
        return None
    heads, size = parts.shape[2:]
    if not heads or not size:
        return None
    for inner, offset in graph.pairs(parts, "Add"):
        if offset is not None and offset.array is not None and offset.shape == (heads, size):
            joined = _joined(inner, graph)
            if joined is not None:
                return _Projected(joined, heads, size, offset)
    joined = _joined(parts, graph)
    if joined is not None:
        return _Projected(joined, heads, size, None)
    joined = Operand(FLOAT32, (*parts.shape[:2], heads * size), name="joined")
    reshape = _reshape(parts, joined, [_SAME, _SAME, heads * size])
    return _Projected(joined, heads, size, None, (reshape,))


def _joined(parts: Operand | None, graph: IslandGraph) -> Operand | None:
    """[batch, positions, heads · size] before it was reshaped into heads."""
    reshape = graph.producer(parts, "Reshape")
    joined = reshape.inputs[0] if reshape is not None else None
    if parts is None or parts.shape is None or joined is None or joined.shape is None:
        return None
    batch, positions, heads, size = parts.shape
    assert heads is not None
    assert size is not None
    same = positions is not None and joined.shape == (batch, positions, heads * size)
    return joined if same else None


def _packed(node: OnnxNode, graph: IslandGraph) -> list[OnnxNode] | None:
    products = [graph.producer(operand, "MatMul") for operand in node.inputs[:PARTS]]
    sources = {product.inputs[0] for product in products if product is not None}
    weights = [product.inputs[1] for product in products if product is not None]
    arrays = [weight.array for weight in weights if weight is not None and weight.array is not None]
    if len(sources) != 1 or len({array.shape for array in arrays}) != 1 or len(arrays) != PARTS:
        return None
    (x,) = sources
    if x is None or x.rank != 3 or arrays[0].ndim != 2:
        return None
    heads = int(node.attrs["num_heads"])
    rows, columns = arrays[0].shape
    if columns > MAX_WIDTH:
        return None
    by_head = np.stack([array.reshape(rows, heads, columns // heads) for array in arrays], 2)
    sizes = [0, 0, heads, PARTS, columns // heads]
    weight = Operand(FLOAT32, value=by_head.reshape(rows, PARTS * columns), name="packed")
    product, parts = Operand(FLOAT32, name="packed"), Operand(FLOAT32, name="packed")
    target = Operand(INT64, value=np.array(sizes, np.int64), name="sizes")
    return [
        OnnxNode("MatMul", (x, weight), (product,), {}),
        OnnxNode("Reshape", (product, target), (parts,), {}),
        OnnxNode(ATTENTION, (parts, None, None, *node.inputs[PARTS:]), node.outputs, node.attrs, node.domain),
    ]
