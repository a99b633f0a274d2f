"""Interpreters of LiteRT for one model: one for each call that runs at the same time, up to a number.

An interpreter has one set of tensors, so that two calls cannot share it. Each has its own copy of the
weights in XNNPACK's form.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tfport.errors import Error
from tfport.runtime.engines.litert.lite_scribe import LiteModelWriter


class Interpreters:
    """Interpreters that are made when they are needed, and kept; the first one at once."""

    def __init__(self, content: bytes, threads: int) -> None:
        _announced()
        self._made = functools.partial(_made, content, threads)
        self._idle = [self._made()]
        self._free = threading.Semaphore(max(1, len(os.sched_getaffinity(0)) // threads))

    @contextlib.contextmanager
    def one(self) -> Iterator[Any]:
        """An interpreter that no other call has; waits for one if there may be no more."""
        with self._free:
            try:
                interpreter = self._idle.pop()
            except IndexError:
                interpreter = self._made()
            try:
                yield interpreter
            finally:
                self._idle.append(interpreter)


def _made(content: bytes, threads: int) -> Any:
    from ai_edge_litert.interpreter import Interpreter

    try:
        interpreter = Interpreter(model_content=content, num_threads=threads)
        interpreter.allocate_tensors()
    except (RuntimeError, ValueError) as error:
        raise Error(f"LiteRT rejects the model that tfport made: {sentence_of(error)}") from None
    return interpreter


@functools.cache
def _announced() -> None:
    """Have LiteRT write that it has XNNPACK, which it does once in a process, where nobody reads it."""
    out = LiteModelWriter()
    x, y = (out.tensor([1], "float32") for _ in range(2))
    out.operator("RELU", [x], [y], "", {})
    with _without_errors():
        _made(out.bytes([x], [y]), 1)


@contextlib.contextmanager
def _without_errors() -> Iterator[None]:
    """Nothing on the standard error of the process."""
    with contextlib.ExitStack() as stack:
        try:
            kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        except OSError:  # there is no standard error
            yield
            return
        restore: Callable[[], Any] = functools.partial(os.dup2, kept, 2)
        stack.callback(os.close, kept)
        stack.callback(os.close, nothing)
        stack.callback(restore)
        os.dup2(nothing, 2)
        yield


def sentence_of(error: Exception) -> str:
    """What LiteRT says about an error."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
