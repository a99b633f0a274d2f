"""Summaries for TensorBoard, as serialized Summary messages."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.formats.encoding.wire import FIXED32, FIXED64, LENGTH, to_varint, walk
from tfport.graph.dtypes import DType
from tfport.graph.tensors import Tensor
from tfport.runtime.lower import host

_TAG, _SIMPLE, _HISTOGRAM, _TENSOR, _METADATA = 1, 2, 5, 8, 9
"""Field numbers of Summary.Value."""


def _bytes(number: int, data: bytes) -> bytes:
    return to_varint(number << 3 | LENGTH) + to_varint(len(data)) + data


def _summary(*values: bytes) -> Any:
    out = np.empty((), object)
    out[()] = b"".join(_bytes(1, value) for value in values)
    return out


@host("ScalarSummary")
def scalar_summary(tags, values):
    if tags.shape != values.shape:
        raise RunFailed(
            f"tags and values must have the same shape, found {list(tags.shape)} and {list(values.shape)}"
        )
    numbers = values.reshape(-1).astype(np.float32).tolist()
    simple = to_varint(_SIMPLE << 3 | FIXED32)
    pairs = zip(tags.reshape(-1).tolist(), numbers, strict=True)
    return _summary(*(_bytes(_TAG, tag) + simple + struct.pack("<f", number) for tag, number in pairs))


@host("HistogramSummary")
def histogram_summary(tag, values):
    if tag.ndim:
        raise RunFailed(f"tag must be a scalar, found shape {list(tag.shape)}")
    numbers = values.reshape(-1).astype(np.float64)
    if not np.all(np.isfinite(numbers)):
        raise RunFailed(f"NaN or infinity in the summary histogram of {tag[()].decode('utf-8', 'replace')}")
    return _summary(_bytes(_TAG, tag[()]) + _bytes(_HISTOGRAM, _histogram(numbers)))


@functools.cache
def _limits() -> Any:
    """The upper limits of the buckets: each 10 % larger than the previous, on both sides of zero."""
    positive, value = [], 1e-12
    while value < 1e20:
        positive.append(value)
        value *= 1.1
    positive.append(float(np.finfo(np.float64).max))
    return np.array([*(-v for v in reversed(positive)), 0.0, *positive])


def _histogram(numbers: Any) -> bytes:
    limits = _limits()
    counts = np.bincount(np.searchsorted(limits, numbers, side="right"), minlength=limits.size)
    # of consecutive empty buckets only the last is written
    kept = (counts > 0) | np.append(counts[1:] > 0, True)
    whole = float(limits[-1])
    statistics = (
        float(numbers.min(initial=whole)),
        float(numbers.max(initial=-whole)),
        float(numbers.size),
        float(numbers.sum()),
        float((numbers * numbers).sum()),
    )
    out = b""
    for number, statistic in enumerate(statistics, 1):
        if struct.pack("<d", statistic) != bytes(8):  # zero is the default and is not written
            out += to_varint(number << 3 | FIXED64) + struct.pack("<d", statistic)
    return (
        out
        + _bytes(6, limits[kept].astype("<f8").tobytes())
        + _bytes(7, counts[kept].astype("<f8").tobytes())
    )


@host("MergeSummary")
def merge_summary(inputs):
    """Concatenate summaries, whose tags must be unique."""
    summaries = [summary for array in inputs for summary in array.reshape(-1).tolist()]
    seen: set[bytes] = set()
    for tag in (tag for summary in summaries for tag in _tags(summary)):
        if tag in seen:
            raise RunFailed(f"duplicate tag {tag.decode('utf-8', 'replace')} found in summary inputs")
        seen.add(tag)
    out = np.empty((), object)
    out[()] = b"".join(summaries)
    return out


def _tags(summary: bytes) -> Iterator[bytes]:
    for value in _fields(summary, 1):
        yield from _fields(value, _TAG)


def _fields(message: bytes, number: int) -> list[bytes]:
    scan = walk(message)
    if not scan.is_complete:
        raise RunFailed("could not parse one of the summary inputs")
    return [message[f.start : f.end] for f in scan.fields if f.number == number and f.wire == LENGTH]


@host("TensorSummaryV2")
def tensor_summary_v2(tag, tensor, serialized_summary_metadata):
    if tag.ndim or serialized_summary_metadata.ndim:
        raise RunFailed(
            "tag and serialized_summary_metadata must be scalars, "
            f"found shapes {list(tag.shape)} and {list(serialized_summary_metadata.shape)}"
        )
    return _summary(
        _bytes(_TAG, tag[()])
        + _bytes(_TENSOR, _tensor(tensor))
        + _bytes(_METADATA, serialized_summary_metadata[()])
    )


def _tensor(array: Any) -> bytes:
    dtype = DType.parse("string" if array.dtype == object else array.dtype.name)
    return Tensor.from_numpy(array, dtype).to_proto().SerializeToString()
