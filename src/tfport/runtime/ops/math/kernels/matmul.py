"""Matrix products, cross products and Einstein summation."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.fused_ops import apply_fused_ops
from tfport.runtime.ops.shared.axes import same_shapes
from tfport.runtime.ops.shared.precision import widen


@host("MatMul")
def matmul(a, b, *, transpose_a, transpose_b, grad_a, grad_b):
    return _product(a, b, transpose_a, transpose_b)


@host("SparseMatMul")
def sparse_matmul(a, b, *, transpose_a, transpose_b, a_is_sparse, b_is_sparse):
    return _product(a, b, transpose_a, transpose_b)


def _product(a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> Any:
    if a.ndim != 2 or b.ndim != 2:
        raise RunFailed(f"the inputs must be matrices, found shapes {list(a.shape)} and {list(b.shape)}")
    return _matmul(a.T if transpose_a else a, b.T if transpose_b else b)


def _matmul(x: Any, y: Any) -> Any:
    return np.matmul(widen(x), widen(y))


@host("BatchMatMul")
def batch_matmul(x, y, *, adj_x, adj_y, grad_x, grad_y):
    if x.shape[:-2] != y.shape[:-2]:
        raise RunFailed(f"the batch shapes of {list(x.shape)} and {list(y.shape)} differ")
    return _batches(x, y, adj_x, adj_y)


@host("BatchMatMulV2")
def batch_matmul_v2(x, y, *, adj_x, adj_y, grad_x, grad_y):
    return _batches(x, y, adj_x, adj_y)


@host("BatchMatMulV3")
def batch_matmul_v3(x, y, *, Tout, adj_x, adj_y, grad_x, grad_y):
    return _batches(widen(x.astype(Tout.numpy)), widen(y.astype(Tout.numpy)), adj_x, adj_y)


def _batches(x: Any, y: Any, adj_x: bool, adj_y: bool) -> Any:
    if x.ndim < 2 or y.ndim < 2:
        raise RunFailed(f"the inputs must be matrices, found shapes {list(x.shape)} and {list(y.shape)}")
    return _matmul(_adjoint(x) if adj_x else x, _adjoint(y) if adj_y else y)


def _adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


@host("_FusedMatMul")
def fused_matmul(a, b, args, *, transpose_a, transpose_b, fused_ops, epsilon, leakyrelu_alpha):
    product = _product(widen(a), widen(b), transpose_a, transpose_b)
    return apply_fused_ops(product, args, fused_ops, epsilon, leakyrelu_alpha)


@host("Cross")
def cross(a, b):
    same_shapes(a, b)
    if not a.ndim or a.shape[-1] != 3:
        raise RunFailed(f"cross products need vectors of 3 elements, found shape {list(a.shape)}")
    x, y = widen(a), widen(b)
    pairs = ((1, 2), (2, 0), (0, 1))
    return np.stack([x[..., i] * y[..., j] - x[..., j] * y[..., i] for i, j in pairs], axis=-1)


# Einstein summation, with equations parsed as TensorFlow does

_TERM = re.compile(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*")


def terms_of(equation: str, operands: int) -> tuple[list[str], str]:
    """The labels of each input and of the output."""
    left, arrow, right = equation.partition("->")
    inputs = left.split(",")
    if not arrow or "->" in right:
        raise RunFailed(f"`{equation}` must have one `->`")
    if len(inputs) != operands or operands > 2:
        raise RunFailed(f"`{equation}` must have one term per input, one or two; there are {operands}")
    for term in (*inputs, right):
        if not _TERM.fullmatch(term):
            raise RunFailed(f"`{term}` in `{equation}` must consist of letters and at most one `...`")
    return inputs, right


@host("Einsum")
def einsum(inputs, *, equation):
    terms, output = terms_of(equation, len(inputs))
    for term, array in zip(terms, inputs, strict=True):
        _check_rank(term, array)
    _check_sizes(terms, inputs)
    unnamed = [a.ndim - len(t.replace("...", "")) for t, a in zip(terms, inputs, strict=True)]
    if "..." not in output and any(unnamed):
        raise RunFailed(f"`{equation}` must have `...` in its output")
    named = set("".join(terms))
    # ignore a label that no input has
    kept = [c for c in re.findall(r"\.\.\.|[A-Za-z]", output) if c == "..." or c in named]
    once = list(dict.fromkeys(kept))
    if "..." in once and not any("..." in term for term in terms):
        once.remove("...")
        kept.remove("...")
    answer = np.einsum(f"{','.join(terms)}->{''.join(once)}", *map(widen, inputs), optimize=True)
    return answer if once == kept else _spread(answer, once, kept)


def _check_rank(term: str, array: Any) -> None:
    labels = len(term.replace("...", ""))
    if array.ndim < labels or ("..." not in term and array.ndim != labels):
        raise RunFailed(f"`{term}` does not match an input of shape {list(array.shape)}")


def _check_sizes(terms: list[str], inputs: list[Any]) -> None:
    """A label has one size everywhere: only `...` broadcasts."""
    sizes: dict[str, int] = {}
    for term, array in zip(terms, inputs, strict=True):
        before, _, after = term.partition("...")
        shape = array.shape
        pairs = [*zip(before, shape[: len(before)], strict=True)]
        pairs += zip(after, shape[array.ndim - len(after) :], strict=True)
        for label, size in pairs:
            if sizes.setdefault(label, size) != size:
                raise RunFailed(f"label {label} has sizes {sizes[label]} and {size}")


def _spread(answer: Any, once: list[str], kept: list[str]) -> Any:
    """Repeated output labels: put the result on the diagonal, with zeros around it."""
    ellipsis = answer.ndim - len([c for c in once if c != "..."])
    shape: list[int] = []
    index: list[Any] = []
    axis_of, at = {}, 0
    for label in once:
        axis_of[label] = at
        at += ellipsis if label == "..." else 1
    indices = np.indices(answer.shape, sparse=True)
    for label in kept:
        axes = range(axis_of[label], axis_of[label] + (ellipsis if label == "..." else 1))
        shape += [answer.shape[i] for i in axes]
        index += [indices[i] for i in axes]
    array = np.zeros(shape, answer.dtype)
    array[tuple(index)] = answer
    return array
