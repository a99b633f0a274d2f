"""Matrix products and Einstein summation, lowered to ONNX.

A summation becomes a matrix product, or ONNX's own Einsum where it is not one. A label of both inputs is a
batch axis if the output keeps it, and summed if not; any other is free. The inputs are transposed to `batch,
free, summed` and `batch, summed, free`, and multiplied.
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence

from tfport.errors import RunFailed
from tfport.graph.dtypes import FLOAT32
from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.math.kernels.matmul import terms_of
from tfport.runtime.ops.nn.onnx_fused_ops import lower_fused_ops
from tfport.runtime.ops.nn.windows import DataLayout

Sizes = dict[str, int | None]


@lower("MatMul")
def matmul(b, a, b_, *, transpose_a, transpose_b, grad_a, grad_b):
    return _product(b, a, b_, transpose_a, transpose_b)


@lower("SparseMatMul")
def sparse_matmul(b, a, b_, *, transpose_a, transpose_b, a_is_sparse, b_is_sparse):
    return _product(b, b.cast(a, FLOAT32), b.cast(b_, FLOAT32), transpose_a, transpose_b)


def _product(b: Builder, x: Operand, y: Operand, transpose_x: bool, transpose_y: bool) -> Operand:
    if x.rank not in (None, 2) or y.rank not in (None, 2):
        raise CannotLower("the inputs must be matrices")
    if (transpose_x or transpose_y) and x.dtype.is_floating:
        return b.Gemm(x, y, transA=int(transpose_x), transB=int(transpose_y))
    x = b.transpose(x, [1, 0]) if transpose_x else x
    y = b.transpose(y, [1, 0]) if transpose_y else y
    product: Operand = b.MatMul(x, y)
    product.shape = product.shape or (None, None)
    return product


@lower("BatchMatMul")
def batch_matmul(b, x, y, *, adj_x, adj_y, grad_x, grad_y):
    if rank_of(x) != rank_of(y) or rank_of(x) < 2:
        raise CannotLower("the batch shapes differ")
    # ONNX broadcasts a batch of size 1; in TensorFlow both must be 1
    if any(1 in sizes and set(sizes) != {1} for sizes in zip(x.shape[:-2], y.shape[:-2], strict=True)):
        raise CannotLower("the batch shapes may differ")
    return b.MatMul(_adjoint(b, x, adj_x), _adjoint(b, y, adj_y))


@lower("BatchMatMulV2")
def batch_matmul_v2(b, x, y, *, adj_x, adj_y, grad_x, grad_y):
    _at_least_matrices(x, y)
    return b.MatMul(_adjoint(b, x, adj_x), _adjoint(b, y, adj_y))


@lower("BatchMatMulV3")
def batch_matmul_v3(b, x, y, *, Tout, adj_x, adj_y, grad_x, grad_y):
    _at_least_matrices(x, y)
    return b.MatMul(_adjoint(b, b.cast(x, Tout), adj_x), _adjoint(b, b.cast(y, Tout), adj_y))


def _at_least_matrices(x: Operand, y: Operand) -> None:
    if any(operand.rank is not None and operand.rank < 2 for operand in (x, y)):
        raise CannotLower("the inputs must be matrices")


def _adjoint(b: Builder, x: Operand, wanted: bool) -> Operand:
    if not wanted:
        return x
    *batch, rows, columns = range(rank_of(x))
    return b.transpose(x, [*batch, columns, rows])


@lower("_FusedMatMul")
def fused_matmul(b, a, b_, args, *, transpose_a, transpose_b, fused_ops, epsilon, leakyrelu_alpha):
    product = _product(b, a, b_, transpose_a, transpose_b)
    return lower_fused_ops(b, product, DataLayout("NHWC"), args, fused_ops, epsilon, leakyrelu_alpha)


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
