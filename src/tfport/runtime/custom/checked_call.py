"""Call custom kernels: protect their inputs, catch their errors, validate their outputs.

Inputs are read-only, as other steps read them too. Whatever the kernel raises becomes RunFailed
with the node and the op. Outputs must be of the kind that the op declares: float64 is converted to
float32, but not to an integer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.graph.dtypes import DType
from tfport.runtime.lower import Context
from tfport.runtime.program import Run

Regroup = Callable[[Sequence[Any]], Sequence[Any]]


def checked_call(
    function: Callable[..., Any], named: Mapping[str, Any], regroup: Regroup | None, context: Context
) -> Run:
    """A custom kernel as a function of flat arrays."""
    where = f"`{context.name}` ({context.op})"
    single = _single_type(context.outputs)

    def run(arrays: Sequence[Any]) -> Sequence[Any]:
        inputs: Sequence[Any] = [_read_only(array) for array in arrays]
        if regroup is not None:
            inputs = regroup(inputs)
        try:
            result = function(*inputs, **named)
        except RunFailed as error:
            raise RunFailed(f"{where}: {error}") from None
        except Exception as error:
            raise RunFailed(f"{where}: {type(error).__name__}: {error}") from error
        if single is not None and type(result) is np.ndarray and result.dtype == single:
            return [result]
        return _validated(result, context.outputs, where)

    return run


def _single_type(outputs: Sequence[DType]) -> np.dtype[Any] | None:
    """The type of the output if there is one output, a numeric array: then nothing else is checked."""
    if len(outputs) != 1 or _has_no_array(outputs[0]) or outputs[0].numpy.kind == "O":
        return None
    return outputs[0].numpy


def _has_no_array(dtype: DType) -> bool:
    return dtype.name in ("resource", "variant") or dtype.is_ref


def _read_only(value: Any) -> Any:
    if type(value) is np.ndarray and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value


def _validated(result: Any, outputs: Sequence[DType], where: str) -> list[Any]:
    flat = _flat(result)
    if len(flat) != len(outputs):
        raise RunFailed(f"{where}: the kernel returns {len(flat)} outputs; expected {len(outputs)}")
    return [_typed(value, dtype, where) for value, dtype in zip(flat, outputs, strict=True)]


def _flat(result: Any) -> list[Any]:
    if isinstance(result, tuple | list):
        return [value for part in result for value in _flat(part)]
    return [] if result is None else [result]


def _typed(value: Any, dtype: DType, where: str) -> Any:
    if _has_no_array(dtype):
        return value
    numpy_type = dtype.numpy
    if numpy_type.kind == "O":
        return _strings(value, where)
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise RunFailed(f"{where}: the kernel does not return an array: {error}") from None
    if array.dtype == numpy_type:
        return array
    if not np.can_cast(array.dtype, numpy_type, "same_kind"):
        raise RunFailed(f"{where}: the kernel returns {array.dtype}; expected {dtype}")
    with np.errstate(all="ignore"):  # floats that are too large become infinite
        return array.astype(numpy_type)


def _strings(value: Any, where: str) -> Any:
    """Convert text and NumPy strings to bytes in an object array."""
    array = value if isinstance(value, np.ndarray) else np.asarray(value, object)
    out = np.empty(array.shape, object)
    for index, text in np.ndenumerate(array):
        if not isinstance(text, bytes | str):
            raise RunFailed(
                f"{where}: the kernel returns {type(text).__name__} in a string tensor; expected bytes"
            )
        out[index] = text.encode() if isinstance(text, str) else bytes(text)
    return out
