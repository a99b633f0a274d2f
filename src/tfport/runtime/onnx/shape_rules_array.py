"""Shape rules of ONNX ops that move elements: reshaping, joining, slicing, gathering, padding."""

from __future__ import annotations

import numpy as np

from tfport.runtime.onnx.shape_rule import Attrs, Inputs, broadcast, first_two, required, shape_rule
from tfport.runtime.operand import Dims, Operand


@shape_rule("Transpose")
def _transpose(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x = required(inputs[0])
    perm = attrs.get("perm")
    if x.shape is None:
        return [(None,) * len(perm) if perm is not None else None]
    return [tuple(x.shape[i] for i in perm) if perm is not None else x.shape[::-1]]


@shape_rule("Reshape")
def _reshape(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, wanted = first_two(inputs)
    if wanted.known is None:
        length = wanted.shape[0] if wanted.shape else None
        return [(None,) * length if length is not None else None]
    sizes = []
    for i, n in enumerate(wanted.known):
        if n == 0 and not attrs.get("allowzero"):
            sizes.append(x.shape[i] if x.shape is not None and i < len(x.shape) else None)
        else:
            sizes.append(None if n == -1 else n)
    # one unknown size, -1 or not constant, is what the other sizes leave
    if sizes.count(None) == 1 and x.shape is not None and None not in x.shape:
        rest = int(np.prod([n for n in sizes if n is not None]))
        total = int(np.prod([n for n in x.shape if n is not None]))
        if rest and total % rest == 0:
            sizes[sizes.index(None)] = total // rest
    return [tuple(sizes)]


@shape_rule("Concat")
def _concat(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    present = [operand for operand in inputs if operand is not None]
    shapes = [operand.shape for operand in present if operand.shape is not None]
    if not shapes:
        return [None]
    rank = len(shapes[0])
    if any(len(shape) != rank for shape in shapes) or not rank:
        return [None]
    axis = attrs["axis"] % rank
    sizes: list[int | None] = []
    for i in range(rank):
        column = [shape[i] for shape in shapes]
        if i == axis:
            whole = len(shapes) == len(present) and None not in column
            sizes.append(sum(n for n in column if n is not None) if whole else None)
        else:
            sizes.append(next((n for n in column if n is not None), None))
    return [tuple(sizes)]


@shape_rule("Squeeze")
def _squeeze(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, axes = required(inputs[0]), inputs[1] if len(inputs) > 1 else None
    if x.shape is None or axes is None or axes.known is None or None in axes.known:
        return [None]
    removed = {axis % len(x.shape) for axis in axes.known if axis is not None}
    return [tuple(n for i, n in enumerate(x.shape) if i not in removed)]


@shape_rule("Unsqueeze")
def _unsqueeze(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, axes = first_two(inputs)
    if x.shape is None or axes.known is None or None in axes.known:
        return [None]
    rank = len(x.shape) + len(axes.known)
    new = {axis % rank for axis in axes.known if axis is not None}
    rest = iter(x.shape)
    return [tuple(1 if i in new else next(rest) for i in range(rank))]


@shape_rule("Shape")
def _shape(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    rank = inputs[0].rank if inputs[0] is not None else None
    if rank is None:
        return [(None,)]
    return [(len(range(rank)[attrs.get("start", 0) : attrs.get("end")]),)]


@shape_rule("Size")
def _scalar(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    return [()] * outputs


@shape_rule("Gather")
def _gather(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, indices = first_two(inputs)
    if x.shape is None or indices.shape is None:
        return [None]
    axis = attrs.get("axis", 0) % max(len(x.shape), 1)
    return [x.shape[:axis] + indices.shape + x.shape[axis + 1 :]]


@shape_rule("GatherND")
def _gather_nd(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, indices = first_two(inputs)
    if x.shape is None or not indices.shape or indices.shape[-1] is None:
        return [None]
    depth = indices.shape[-1] + attrs.get("batch_dims", 0)
    return [indices.shape[:-1] + x.shape[depth:]]


@shape_rule("GatherElements")
def _gather_elements(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    return [inputs[1].shape if inputs[1] is not None else None]


@shape_rule("Slice")
def _slice(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, starts = first_two(inputs)
    ends = required(inputs[2])
    if x.shape is None:
        return [None]
    axes = inputs[3].known if len(inputs) > 3 and inputs[3] is not None else tuple(range(len(x.shape)))
    steps = inputs[4] if len(inputs) > 4 else None
    sizes = list(x.shape)
    if axes is None or None in axes:
        return [(None,) * len(sizes)]
    for i, axis in enumerate(axes):
        assert axis is not None
        sizes[axis] = _sliced(
            sizes[axis], _element(starts, i), _element(ends, i), 1 if steps is None else _element(steps, i)
        )
    return [tuple(sizes)]


def _element(operand: Operand, i: int) -> int | None:
    return operand.known[i] if operand.known is not None and i < len(operand.known) else None


def _sliced(size: int | None, start: int | None, end: int | None, step: int | None) -> int | None:
    if size is None or start is None or end is None or step is None or step == 0:
        return None
    return len(range(*slice(start, end if end > -(2**62) else None, step).indices(size)))


@shape_rule("Expand")
def _expand(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, wanted = first_two(inputs)
    known = wanted.known
    if known is None and wanted.shape and wanted.shape[0] is not None:
        known = (None,) * wanted.shape[0]
    return [None if known is None else broadcast(x.shape, known)]


@shape_rule("Tile")
def _tile(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, repeats = first_two(inputs)
    if x.shape is None:
        return [None]
    if repeats.known is None or len(repeats.known) != len(x.shape):
        return [(None,) * len(x.shape)]
    return [
        tuple(None if n is None or r is None else n * r for n, r in zip(x.shape, repeats.known, strict=True))
    ]


@shape_rule("Pad")
def _pad(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, pads = first_two(inputs)
    if x.shape is None:
        return [None]
    rank = len(x.shape)
    if pads.known is None or len(pads.known) != 2 * rank:
        return [(None,) * rank]
    around = [(pads.known[i], pads.known[i + rank]) for i in range(rank)]
    return [
        tuple(
            None if n is None or p is None or q is None else n + p + q
            for n, (p, q) in zip(x.shape, around, strict=True)
        )
    ]


@shape_rule("ConstantOfShape")
def _filled(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    wanted = required(inputs[0])
    if wanted.known is not None:
        return [wanted.known]
    return [(None,) * wanted.shape[0] if wanted.shape and wanted.shape[0] is not None else None]


@shape_rule("Range")
def _range(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    return [(None,)]


@shape_rule("NonZero")
def _non_zero(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    return [(inputs[0].rank if inputs[0] is not None else None, None)]


@shape_rule("Split")
def _split(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x = required(inputs[0])
    if x.shape is None:
        return [None] * outputs
    axis = attrs.get("axis", 0) % max(len(x.shape), 1)
    sizes = inputs[1].known if len(inputs) > 1 and inputs[1] is not None else None
    if sizes is None:
        whole = x.shape[axis]
        even = len(inputs) < 2 and whole is not None and whole % outputs == 0
        sizes = (whole // outputs if even and whole is not None else None,) * outputs
    return [(*x.shape[:axis], n, *x.shape[axis + 1 :]) for n in sizes]


@shape_rule("OneHot")
def _one_hot(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    indices, depth = first_two(inputs)
    if indices.shape is None:
        return [None]
    axis = attrs.get("axis", -1) % (len(indices.shape) + 1)
    size = depth.known[0] if depth.known else None
    return [(*indices.shape[:axis], size, *indices.shape[axis:])]
