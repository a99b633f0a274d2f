"""Einstein summation, with equations parsed as TensorFlow does."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.precision import widen

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
