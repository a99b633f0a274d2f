"""Compute with denormal numbers flushed to zero, as TensorFlow's threads do.

An instruction on a denormal number is a hundred times slower, and convolutions compute many where activations
vanish. The mode is one of the calling thread: it is set for a call of the engine, and restored after it.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")
_FLUSH = {
    "x86_64": (8, 7, 0x8040),  # MXCSR, the last word of fenv_t: flush to zero, denormals are zero
    "aarch64": (2, 0, 1 << 24),  # FPCR, the first word of fenv_t
}
"""By processor: the words of the C library's `fenv_t`, the index of the word with the mode, and its bits."""


def _environment() -> tuple[Any, Any, Any, int, int] | None:
    """The C functions that read and set the mode, the type of its words, the index of the word with the mode,
    and its bits; None where that is not known."""
    bits = _FLUSH.get(platform.machine())
    try:
        library = ctypes.PyDLL("libm.so.6")  # keeps the interpreter's lock: the calls take nanoseconds
        read, write = library.fegetenv, library.fesetenv
    except (OSError, AttributeError):
        return None
    read.argtypes = write.argtypes = [ctypes.c_void_p]
    if bits is None:
        return None
    size, at, flush = bits
    return read, write, ctypes.c_uint32 * size, at, flush


_C = _environment()
CAN_FLUSH = _C is not None


def flushed(call: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
    """The result of a call that flushes denormal numbers in this thread, where that is possible.

    Threads that the call starts inherit the mode.
    """
    return _in_mode(_C[4] if _C is not None else 0, call, *arguments, **options)


def mode_kept(call: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
    """The result of a call that may change the mode of this thread, which is restored."""
    return _in_mode(0, call, *arguments, **options)


def _in_mode(bits: int, call: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
    """The result of a call with these bits set; the mode is restored after it."""
    if _C is None:
        return call(*arguments, **options)
    read, write, words, at, _ = _C
    mode = words()
    read(mode)
    before = mode[at]
    mode[at] = before | bits
    write(mode)
    try:
        return call(*arguments, **options)
    finally:
        mode[at] = before
        write(mode)
