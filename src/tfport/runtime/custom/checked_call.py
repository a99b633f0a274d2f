"""How somebody's kernel is called: what it may break is out of its reach, what it gives is looked at.

Its inputs cannot be written to, as others read them too. Whatever it raises is RunFailed with
the node and the op. What it gives must be of the kind that the op declares: float64 becomes
float32, but never an integer.
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
    """A kernel as a function of flat arrays."""
    where = f"`{context.name}` ({context.op})"
    usual = _usual(context.outputs)

    def run(arrays: Sequence[Any]) -> Sequence[Any]:
        inputs: Sequence[Any] = [_unwritable(array) for array in arrays]
        if regroup is not None:
            inputs = regroup(inputs)
        try:
            answer = function(*inputs, **named)
        except RunFailed as error:
            raise RunFailed(f"{where}: {error}") from None
        except Exception as error:
            raise RunFailed(f"{where}: {type(error).__name__}: {error}") from error
        if usual is not None and type(answer) is np.ndarray and answer.dtype == usual:
            return [answer]
        return _looked_at(answer, context.outputs, where)

    return run


def _usual(outputs: Sequence[DType]) -> np.dtype[Any] | None:
    """The type of the one array that most ops give, which needs no second look."""
    if len(outputs) != 1 or _has_no_array(outputs[0]) or outputs[0].numpy.kind == "O":
        return None
    return outputs[0].numpy


def _has_no_array(dtype: DType) -> bool:
    return dtype.name in ("resource", "variant") or dtype.is_ref


def _unwritable(value: Any) -> Any:
    if type(value) is np.ndarray and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value


def _looked_at(answer: Any, outputs: Sequence[DType], where: str) -> list[Any]:
    flat = _flat(answer)
    if len(flat) != len(outputs):
        raise RunFailed(f"{where}: the kernel gives {len(flat)} outputs; expected {len(outputs)}")
    return [_typed(value, dtype, where) for value, dtype in zip(flat, outputs, strict=True)]


def _flat(answer: Any) -> list[Any]:
    if isinstance(answer, tuple | list):
        return [value for part in answer for value in _flat(part)]
    return [] if answer is None else [answer]


def _typed(value: Any, dtype: DType, where: str) -> Any:
    if _has_no_array(dtype):
        return value
    kind = dtype.numpy
    if kind.kind == "O":
        return _strings(value, where)
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise RunFailed(f"{where}: the kernel gives no array: {error}") from None
    if array.dtype == kind:
        return array
    if not np.can_cast(array.dtype, kind, "same_kind"):
        raise RunFailed(f"{where}: the kernel gives {array.dtype}; expected {dtype}")
    with np.errstate(all="ignore"):  # what does not fit is infinite
        return array.astype(kind)


def _strings(value: Any, where: str) -> Any:
    """Strings are bytes in an array of objects; text, and NumPy's own strings, are made that."""
    array = value if isinstance(value, np.ndarray) else np.asarray(value, object)
    out = np.empty(array.shape, object)
    for place, text in np.ndenumerate(array):
        if not isinstance(text, bytes | str):
            raise RunFailed(f"{where}: the kernel gives {type(text).__name__} among strings; expected bytes")
        out[place] = text.encode() if isinstance(text, str) else bytes(text)
    return out
