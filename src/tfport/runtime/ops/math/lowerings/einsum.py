"""Einstein summation as a matrix product, or as ONNX's own Einsum where it is not one.

A label of both inputs is a batch axis if the output keeps it, and summed if not; any other is free. The
inputs are transposed to `batch, free, summed` and `batch, summed, free`, and multiplied.
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence

from tfport.errors import RunFailed
from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.math.kernels.einsum import terms_of

Sizes = dict[str, int | None]


@lower("Einsum")
def einsum(b, inputs, *, equation):
    try:
        terms, output = terms_of(equation, len(inputs))
    except RunFailed as error:
        raise CannotLower(str(error)) from None
    _check(inputs, terms, output)
    terms, output = _without_ellipsis(inputs, terms, output)
    if len(inputs) == 1 and len(set(output)) == len(terms[0]) == len(output):
        return b.transpose(b.Identity(inputs[0]), [terms[0].index(c) for c in output])
    if len(inputs) == 2:
        before = len(b.added)
        try:
            return _einsum_product(b, inputs[0], inputs[1], terms[0], terms[1], output)
        except CannotLower:
            del b.added[before:]
    plain = f"{','.join(terms)}->{output}"
    return b.nodes("Einsum", *inputs, equation=plain, shape=(None,) * len(output))[0]


def _without_ellipsis(inputs: list[Operand], terms: list[str], output: str) -> tuple[list[str], str]:
    """The terms with `...` replaced by a label per axis, aligned at the last axis."""
    free = [c for c in string.ascii_letters if c not in "".join(terms)]
    ranks = [rank_of(o) - len(t.replace("...", "")) for o, t in zip(inputs, terms, strict=True)]
    labels = "".join(free[: max(ranks)])
    plain = [t.replace("...", labels[len(labels) - n :]) for t, n in zip(terms, ranks, strict=True)]
    return plain, output.replace("...", labels)


def _check(inputs: list[Operand], terms: list[str], output: str) -> None:
    """Leave to the host what it refuses or treats specially."""
    for operand, term in zip(inputs, terms, strict=True):
        labels = len(term.replace("...", ""))
        if rank_of(operand) < labels or ("..." not in term and operand.rank != labels):
            raise CannotLower("the labels do not match the axes")
    plain = output.replace("...", "")
    if len(set(plain)) < len(plain) or not set(plain) <= set("".join(terms)):
        raise CannotLower("the output repeats a label, or has a new one")
    if "..." not in output and any("..." in term for term in terms):
        raise CannotLower("the output has no `...`")
    for label in set("".join(terms)) - {"."}:
        sizes = {n for o, t in zip(inputs, terms, strict=True) for n in _sizes_of(label, o, t)}
        if 1 in sizes and len(sizes) > 1:
            # ONNX broadcasts a label of size 1, which TensorFlow refuses
            raise CannotLower(f"{label} may have two sizes")


def _sizes_of(label: str, operand: Operand, term: str) -> list[int | None]:
    before, _, after = term.partition("...")
    shape = operand.shape or ()
    indices = [i for i, c in enumerate(before) if c == label]
    indices += [i - len(after) for i, c in enumerate(after) if c == label]
    return [shape[i] for i in indices]


def _einsum_product(b: Builder, x: Operand, y: Operand, left: str, right: str, output: str) -> Operand:
    batch = [c for c in left if c in right and c in output]
    summed = [c for c in left if c in right and c not in output]
    rows = [c for c in left if c not in right]
    columns = [c for c in right if c not in left]
    if (
        not summed
        or not set(rows + columns) <= set(output)
        or len(left + right) > len({*left}) + len({*right})
    ):
        raise CannotLower("it is not a matrix product")
    if not batch and len(rows) < 2 <= len(columns):
        # the other way round its axes need not be folded, whose sizes may be unknown
        return _einsum_product(b, y, x, right, left, output)
    sizes: Sizes = dict(zip(right, y.shape or (), strict=True))
    for label, size in zip(left, x.shape or (), strict=True):
        sizes[label] = sizes.get(label) if size is None else size
    x = b.transpose(x, [left.index(c) for c in (*batch, *rows, *summed)])
    y = b.transpose(y, [right.index(c) for c in (*batch, *summed, *columns)])
    # without a batch, MatMul treats leading row axes as batch axes
    kept = [*batch, *rows] if rows and not batch else batch
    folded = [] if rows and not batch else [rows]
    product = b.MatMul(
        _folded(b, x, len(kept), [*folded, summed], sizes),
        _folded(b, y, len(batch), [summed, columns], sizes),
    )
    if all(len(group) < 2 for group in (*folded, columns)):
        gone = [len(kept) + i for i, group in enumerate((*folded, columns)) if not group]
        product = b.squeeze(product, *gone) if gone else product
    else:
        labels = [c for group in (*folded, columns) for c in group]
        product = b.Reshape(product, b.ints(*[0] * len(kept), *_one_unknown([sizes[c] for c in labels])))
    order = [*batch, *rows, *columns]
    return b.transpose(product, [order.index(c) for c in output])


def _folded(b: Builder, x: Operand, kept: int, groups: list[list[str]], sizes: Sizes) -> Operand:
    """Keep the first axes, then fold each group of labels into one axis."""
    if all(len(group) < 2 for group in groups):
        return _with_unit_axes(b, x, kept, groups)
    whole = [_whole([sizes[c] for c in group]) for group in groups]
    return b.Reshape(x, b.ints(*[0] * kept, *_one_unknown(whole)))


def _with_unit_axes(b: Builder, x: Operand, kept: int, groups: list[list[str]]) -> Operand:
    new = [kept + i for i, group in enumerate(groups) if not group]
    return b.unsqueeze(x, *new) if new else x


def _whole(sizes: list[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return math.prod(known) if len(known) == len(sizes) else None


def _one_unknown(sizes: Sequence[int | None]) -> list[int]:
    """Sizes for ONNX's Reshape, where 0 and a second -1 have another meaning."""
    if 0 in sizes or list(sizes).count(None) > 1:
        raise CannotLower("the sizes are not known")
    return [-1 if size is None else size for size in sizes]
