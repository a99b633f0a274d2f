"""Several requests as one run: inputs joined along the first axis, outputs split_rows again.

Requests share a run if the same inputs have the same types and, but for the number of rows, the same
shapes; with `pad` sizes may differ where the signature leaves them open, and each input is filled up
with its own first element, as TensorFlow Serving does. Who waits for whom is decided in `queue`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.model import Signature, TensorSpec
from tfport.serve.servable import Arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_PADDED_RANKS = 6
"""TensorFlow Serving pads tensors of 1 to 6 dimensions."""


def rows_of(inputs: Mapping[str, Any]) -> int | None:
    """How many rows a request has; None where its inputs do not agree on that."""
    sizes = {_rows(value) for value in inputs.values()}
    return sizes.pop() if len(sizes) == 1 else None


def _rows(value: Any) -> int | None:
    return int(value.shape[0]) if isinstance(value, np.ndarray) and value.ndim else None


def has_rows(signature: Signature, outputs: Sequence[str]) -> bool:
    """Whether calls for these outputs can be joined at all: rows go in, rows come out."""
    specs = [*signature.inputs.values(), *(signature.outputs[name] for name in outputs)]
    return all(_by_rows(spec) for spec in specs)


def may_share(signature: Signature, inputs: Mapping[str, Any]) -> bool:
    """Whether a request that has rows can be a part of a larger one."""
    # a default stands for the whole input, not for the rows of one request
    return len(inputs) == len(signature.inputs)


def _by_rows(spec: TensorSpec) -> bool:
    dims = spec.shape.dims
    return spec.form == "dense" and (dims is None or (len(dims) > 0 and dims[0] is None))


def kind_of(signature: Signature, inputs: Mapping[str, NDArray[Any]], pad: bool) -> Hashable:
    """What requests must have in common to share a run."""
    return tuple(
        (name, value.dtype, *_sizes(signature.inputs[name], value.shape, pad))
        for name, value in sorted(inputs.items())
    )


def _sizes(spec: TensorSpec, shape: tuple[int, ...], pad: bool) -> tuple[int | None, ...]:
    if not pad or len(shape) > MOST_PADDED_RANKS or 0 in shape:
        return shape[1:]
    fixed = spec.shape.dims or ()
    return tuple(
        size if axis < len(fixed) and fixed[axis] is not None else None for axis, size in enumerate(shape)
    )[1:]


def join(requests: Sequence[Mapping[str, NDArray[Any]]], rows: int, padded: int) -> Arrays:
    """The inputs of requests of one kind, `rows` rows in all, with rows added up to `padded`."""
    if len(requests) == 1 and rows == padded:
        return dict(requests[0])
    return {name: _joined([request[name] for request in requests], padded - rows) for name in requests[0]}


def _joined(parts: list[NDArray[Any]], added: int) -> NDArray[Any]:
    if len({part.shape[1:] for part in parts}) > 1:
        largest = tuple(max(sizes) for sizes in zip(*(part.shape[1:] for part in parts), strict=True))
        parts = [_filled_up(part, largest) for part in parts]
    if added:
        # any row that a client sent is a valid one; TensorFlow Serving takes the last request's first
        parts.append(np.broadcast_to(parts[-1][:1], (added, *parts[-1].shape[1:])))
    return np.concatenate(parts)


def _filled_up(part: NDArray[Any], sizes: tuple[int, ...]) -> NDArray[Any]:
    if part.shape[1:] == sizes:
        return part
    filled = np.full((len(part), *sizes), part.flat[0], part.dtype)
    filled[tuple(slice(size) for size in part.shape)] = part
    return filled


def split_rows(outputs: Mapping[str, Any], rows: Sequence[int], padded: int) -> list[Arrays] | None:
    """The rows of each request; None where an output has not one row for each that went in."""
    if any(_rows(value) != padded for value in outputs.values()):
        return None
    ends = [0]
    for count in rows:
        ends.append(ends[-1] + count)
    return [{name: value[a:b] for name, value in outputs.items()} for a, b in pairwise(ends)]


def pieces_of(inputs: Mapping[str, NDArray[Any]], sizes: Sequence[int]) -> list[Arrays]:
    """A request in pieces of so many rows."""
    pieces = split_rows(inputs, sizes, sum(sizes))
    assert pieces is not None  # its inputs agree on their rows, or it would not be split_rows
    return pieces


def concat_pieces(pieces: Sequence[Arrays]) -> Arrays:
    """The answer to a request whose pieces were answered."""
    if len(pieces) == 1:
        return pieces[0]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
