"""Sparse tensors stored by handle, as TF1 input pipelines batch them."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import Context, host
from tfport.runtime.ops.io.kernels.serialized import split_rows, stacked
from tfport.runtime.ops.sparse.coordinates import checked


class SparseTensorsMap:
    """Sparse tensors by handle."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Any, Any, Any]] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def add(self, part: tuple[Any, Any, Any]) -> int:
        with self._lock:
            number = next(self._numbers)
            self._kept[number] = part
            return number

    def take(self, number: int) -> tuple[Any, Any, Any]:
        with self._lock:
            if number not in self._kept:
                raise RunFailed(f"unknown sparse handle {number}")
            return self._kept.pop(number)


def _map(context: Context, container: str, shared_name: str) -> SparseTensorsMap:
    name = f"{container}/{shared_name or context.name}"
    return context.state.resource(SparseTensorsMap, name, SparseTensorsMap)


@host("AddSparseToTensorsMap")
def add_sparse(sparse_indices, sparse_values, sparse_shape, *, container, shared_name, context):
    checked(sparse_indices, sparse_values, sparse_shape)
    return np.int64(_map(context, container, shared_name).add((sparse_indices, sparse_values, sparse_shape)))


@host("AddManySparseToTensorsMap")
def add_many_sparse(sparse_indices, sparse_values, sparse_shape, *, container, shared_name, context):
    kept = _map(context, container, shared_name)
    return np.array(
        [kept.add(part) for part in split_rows(sparse_indices, sparse_values, sparse_shape)], np.int64
    )


@host("TakeManySparseFromTensorsMap")
def take_many_sparse(sparse_handles, *, dtype, container, shared_name, context):
    kept = _map(context, container, shared_name)
    parts = [kept.take(number) for number in sparse_handles.tolist()]
    if not parts:
        raise RunFailed("sparse_handles must not be empty")
    if any(values.dtype != dtype.numpy for _, values, _ in parts):
        raise RunFailed(
            f"sparse tensors must be of type {dtype}, found {[str(values.dtype) for _, values, _ in parts]}"
        )
    return stacked(parts, (len(parts),))
