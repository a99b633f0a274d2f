"""Convert fed values to arrays of the types that a graph expects, without losing information.

Lists and Python numbers are converted where TensorFlow converts them: integers to any numeric type,
floats to any floating-point type (rounded as usual). An integer outside the range of its type is an
error; TensorFlow would wrap it around. Arrays are converted only where every value of their type fits.
Shapes are checked by the session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from tfport.errors import RunFailed
from tfport.graph.dtypes import DType

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def as_array(value: ArrayLike, dtype: DType, name: str) -> NDArray[Any]:
    """Return `value` as an array of `dtype`; RunFailed names the input `name` and what does not fit."""
    try:
        numpy_type = dtype.numpy
    except KeyError:
        raise RunFailed(f"`{name}` is {dtype}, which cannot be fed") from None
    array = _rectangular(value, dtype, name)
    if numpy_type.kind == "O":
        return _strings(name, array, value)
    if array.dtype == numpy_type:
        return array
    if not _is_convertible(array, numpy_type, is_array=isinstance(value, np.ndarray | np.generic)):
        raise RunFailed(f"`{name}` must be {dtype}, got {_described(array)}")
    _check_range(array, numpy_type, dtype, name)
    try:
        with np.errstate(all="ignore"):  # a float that is too large becomes infinite, as in TensorFlow
            return array.astype(numpy_type)
    except OverflowError:
        raise RunFailed(f"`{name}` must be {dtype}, got an integer that is too large for it") from None


def _rectangular(value: ArrayLike, dtype: DType, name: str) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        if isinstance(value, list | tuple):
            wrong = "nested lists of different lengths"
        else:
            wrong = f"{type(value).__name__}, which NumPy cannot convert: {error}"
        raise RunFailed(f"`{name}` must be a rectangular {dtype} array, got {wrong}") from None


def _is_convertible(array: NDArray[Any], dtype: np.dtype[Any], *, is_array: bool) -> bool:
    """Whether values of an array, or of a list that became one, may be converted to the expected type."""
    source = array.dtype.kind
    if source in "iub" and np.can_cast(array.dtype, dtype):
        return True
    if is_array:
        return False
    if source == "O":  # Python integers beyond 64 bits
        return dtype.kind in "iufV" and not _non_integers(array)
    if array.size == 0:
        return True
    if dtype.kind == "V":  # bfloat16, float8 and int4 are `V` to NumPy
        return source in "iub" or (source == "f" and _limits(dtype) is None)
    return source == dtype.kind or (source in "iu" and dtype.kind in "iuf")


def _described(array: NDArray[Any]) -> str:
    if array.dtype.kind == "O" and (wrong := _non_integers(array)):
        return repr(next((element for element in wrong if not isinstance(element, float)), wrong[0]))
    return "strings" if array.dtype.kind in "SU" else str(array.dtype)


def _non_integers(array: NDArray[Any]) -> list[Any]:
    return [element for element in array.reshape(-1).tolist() if not isinstance(element, int)]


def _check_range(array: NDArray[Any], numpy_type: np.dtype[Any], dtype: DType, name: str) -> None:
    """Raise RunFailed for an integer that the expected type cannot represent."""
    limits = _limits(numpy_type)
    if limits is None or array.size == 0 or array.dtype.kind == "b":
        return
    low, high = limits
    for element in (array.min(), array.max()):
        if not low <= int(element) <= high:
            raise RunFailed(f"`{name}` must be {dtype} ({low} to {high}), got {element}")


def _limits(dtype: np.dtype[Any]) -> tuple[int, int] | None:
    """The smallest and the largest value of an integer type; None for other types."""
    try:
        limits: Any = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    except ValueError:
        return None
    return int(limits.min), int(limits.max)


def _strings(name: str, array: NDArray[Any], value: ArrayLike) -> NDArray[Any]:
    if array.dtype.kind in "SU" and not isinstance(value, np.ndarray):
        array = np.asarray(value, object)  # NumPy's own strings lose zero bytes at their end
    flat = array.reshape(-1).tolist()
    if array.dtype == object and set(map(type, flat)) == {bytes}:
        return array
    out = np.empty(len(flat), object)
    for index, element in enumerate(flat):
        if not isinstance(element, (bytes, str)):
            kind = type(element).__name__
            raise RunFailed(f"`{name}` must be string: text or bytes, got the {kind} {element!r:.40}")
        out[index] = element if isinstance(element, bytes) else element.encode()
    return out.reshape(array.shape)
