"""TensorList ops. A list is an immutable variant value; each change creates a new list."""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.control.tensor_list import (
    TensorList,
    is_compatible,
    merged,
    rows_of_tensor,
    shape_from,
    shape_text,
)


@host("EmptyTensorList")
def empty_tensor_list(element_shape, max_num_elements, *, element_dtype, shape_type):
    if np.ndim(max_num_elements):
        raise RunFailed(f"max_num_elements must be a scalar, found shape {list(np.shape(max_num_elements))}")
    return TensorList([], shape_from(element_shape), element_dtype)


@host("TensorListReserve")
def reserve(element_shape, num_elements, *, element_dtype, shape_type):
    count = int(num_elements)
    if count < 0:
        raise RunFailed(f"num_elements must not be negative, found {count}")
    return TensorList([None] * count, shape_from(element_shape), element_dtype)


@host("TensorListFromTensor")
def from_tensor(tensor, element_shape, *, element_dtype, shape_type):
    shape = shape_from(element_shape)
    if np.ndim(tensor) == 0:
        raise RunFailed("tensor must have rank 1 or more, found a scalar")
    if not is_compatible(tensor.shape[1:], shape):
        raise RunFailed(f"element_shape is {shape_text(shape)}, found rows of shape {tensor.shape[1:]}")
    return TensorList(rows_of_tensor(tensor), shape, element_dtype)


@host("TensorListStack")
def stack(input_handle, element_shape, *, element_dtype, num_elements):
    if num_elements not in (-1, len(input_handle)):
        raise RunFailed(f"expected a list of {num_elements} elements, found {len(input_handle)}")
    return _checked(input_handle, element_dtype).stack(shape_from(element_shape))


@host("TensorListGetItem")
def get_item(input_handle, index, element_shape, *, element_dtype):
    return _checked(input_handle, element_dtype).get(int(index), shape_from(element_shape))


@host("TensorListSetItem")
def set_item(input_handle, index, item, *, element_dtype, resize_if_index_out_of_bounds):
    return _checked(input_handle, element_dtype).set(int(index), item, resize=resize_if_index_out_of_bounds)


@host("TensorListPushBack")
def push_back(input_handle, tensor, *, element_dtype):
    handle = _checked(input_handle, element_dtype)
    return handle.with_items([*handle.items, None]).set(len(handle), tensor)


@host("TensorListPushBackBatch")
def push_back_batch(input_handles, tensor, *, element_dtype):
    pushed = np.empty(np.shape(input_handles), object)
    for at in np.ndindex(pushed.shape):
        pushed[at] = push_back(input_handles[at], tensor[at], element_dtype=element_dtype)
    return pushed


@host("TensorListPopBack")
def pop_back(input_handle, element_shape, *, element_dtype):
    if not len(input_handle):
        raise RunFailed("cannot pop from an empty list")
    handle = _checked(input_handle, element_dtype)
    item = handle.get(len(handle) - 1, shape_from(element_shape))
    return handle.with_items(handle.items[:-1]), item


@host("TensorListLength")
def length(input_handle):
    return np.array(len(input_handle))


@host("TensorListResize")
def resize(input_handle, size):
    count = int(size)
    if count < 0:
        raise RunFailed(f"size must not be negative, found {count}")
    return input_handle.with_items((input_handle.items + [None] * count)[:count])


@host("TensorListElementShape")
def element_shape(input_handle, *, shape_type):
    shape = input_handle.shape
    return (
        np.array(-1) if shape is None else np.array([-1 if n is None else n for n in shape], shape_type.numpy)
    )


@host("TensorListGather")
def gather(input_handle, indices, element_shape, *, element_dtype):
    positions = np.asarray(indices).tolist()
    return _checked(input_handle, element_dtype).rows(positions, shape_from(element_shape))


@host("TensorListScatter")
def scatter(tensor, indices, element_shape, *, element_dtype, shape_type):
    return _scattered(tensor, indices, element_shape, -1, element_dtype)


@host("TensorListScatterV2")
def scatter_v2(tensor, indices, element_shape, num_elements, *, element_dtype, shape_type):
    return _scattered(tensor, indices, element_shape, int(num_elements), element_dtype)


def _scattered(tensor, indices, element_shape, count, dtype):
    positions = np.asarray(indices).tolist()
    if any(index < 0 for index in positions):
        raise RunFailed(f"indices must not be negative, found {positions}")
    if count == -1:
        count = max(positions, default=-1) + 1
    empty = TensorList([None] * count, shape_from(element_shape), dtype)
    return scatter_into(empty, tensor, indices, element_dtype=dtype)


@host("TensorListScatterIntoExistingList")
def scatter_into(input_handle, tensor, indices, *, element_dtype):
    handle = _checked(input_handle, element_dtype)
    positions = np.asarray(indices).tolist()
    if len(positions) != len(tensor):
        raise RunFailed(f"tensor has {len(tensor)} rows for {len(positions)} indices")
    items = list(handle.items)
    for index, row in zip(positions, rows_of_tensor(tensor), strict=True):
        if index < 0:
            raise RunFailed(f"indices must not be negative, found {index}")
        if not is_compatible(row.shape, handle.shape):
            raise RunFailed(f"elements must have shape {shape_text(handle.shape)}, found {row.shape}")
        items += [None] * (index + 1 - len(items))
        items[index] = row
    return handle.with_items(items)


@host("TensorListConcat")
def concat(input_handle, *, element_dtype, element_shape):
    return _concatenated(input_handle, element_shape.dims, (), element_dtype)


@host("TensorListConcatV2")
def concat_v2(input_handle, element_shape, leading_dims, *, element_dtype, shape_type):
    return _concatenated(input_handle, shape_from(element_shape), leading_dims, element_dtype)


def _concatenated(handle, element_shape, leading_dims, dtype):
    """All elements concatenated along the first axis, and their lengths."""
    shape = merged(_checked(handle, dtype).shape, element_shape)
    if shape is not None and not shape:
        raise RunFailed("cannot concatenate scalars")
    rest = None if shape is None else shape[1:]
    for item in handle.items:
        if item is not None:
            if not item.ndim:
                raise RunFailed("cannot concatenate scalars")
            rest = merged(rest, item.shape[1:])
    leading = [None if n < 0 else int(n) for n in np.asarray(leading_dims).reshape(-1)]
    items = []
    for i, item in enumerate(handle.items):
        first = leading[i] if i < len(leading) else shape[0] if shape else None
        blank = None if rest is None else (first, *rest)
        items.append(handle.zeros(blank, "unset elements were concatenated") if item is None else item)
    lengths = np.array([len(item) for item in items], np.int64)
    if not items:
        blank = handle.zeros(None if rest is None else (0, *rest), "an empty list was concatenated")
        return blank, lengths
    return np.concatenate(items), lengths


@host("TensorListConcatLists")
def concat_lists(input_a, input_b, *, element_dtype):
    if isinstance(input_a, TensorList):
        return input_a.with_items([*input_a.items, *input_b.items])
    joined = np.empty(np.shape(input_a), object)
    for at in np.ndindex(joined.shape):
        joined[at] = concat_lists(input_a[at], input_b[at], element_dtype=element_dtype)
    return joined


@host("TensorListSplit")
def split(tensor, element_shape, lengths, *, element_dtype, shape_type):
    shape = shape_from(element_shape)
    sizes = np.asarray(lengths).tolist()
    if np.ndim(tensor) == 0 or sum(sizes) != len(tensor) or any(n < 0 for n in sizes):
        raise RunFailed(f"cannot split a tensor of shape {np.shape(tensor)} into lengths {sizes}")
    items = [np.ascontiguousarray(part) for part in np.split(tensor, np.cumsum(sizes)[:-1])] if sizes else []
    result = TensorList([None] * len(items), shape, element_dtype)
    for i, item in enumerate(items):
        result = result.set(i, item)
    return result


def _checked(handle, dtype):
    if not isinstance(handle, TensorList):
        raise RunFailed("expected a list of tensors, found another variant")
    if handle.dtype != dtype:
        raise RunFailed(f"expected a list of {dtype}, found a list of {handle.dtype}")
    return handle
