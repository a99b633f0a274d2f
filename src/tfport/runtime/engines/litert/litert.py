"""LiteRT's interpreter, which computes with XNNPACK, for models of known sizes; optional (`tfport[litert]`).

It cannot be interrupted, and has neither loops nor branches, so that each run ends.
"""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import Error
from tfport.extras import is_installed, missing
from tfport.formats.proto import onnx_pb2 as pb
from tfport.operating_system import processors
from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.engines.engine import NO_HINTS, Compiled, Engine, EngineFailed, IslandHints
from tfport.runtime.engines.litert.lite_scribe import LiteScribe
from tfport.runtime.engines.litert.litert_nodes import LiteRtNodes
from tfport.runtime.engines.litert.translate import translate
from tfport.runtime.engines.same_answers import are_ordinary
from tfport.runtime.passes.pass_list import IslandForm
from tfport.runtime.profile.recorder import current_recorder
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray


PACKAGE = "ai_edge_litert"


class LiteRt(Engine):
    """Compiles models in which all sizes are known, and all nodes have a translation."""

    name = "LiteRT"
    checks_indices = False
    form = IslandForm()

    def __init__(self, threads: int) -> None:
        if not is_installed(PACKAGE):
            raise missing(PACKAGE, "the engine litert")
        self.threads = threads

    def takes(self, node: OnnxNode) -> bool:
        return LiteRtNodes()(node)

    def compile(
        self,
        model: bytes,
        weights: Mapping[str, NDArray[Any]],
        inputs: Sequence[str],
        outputs: Sequence[str],
        hints: IslandHints = NO_HINTS,
    ) -> Compiled:
        lite = translate(pb.ModelProto.FromString(model), weights, inputs, outputs)
        interpreters = Interpreters(lite.content, self.threads)

        def run(arrays: Sequence[Any]) -> Sequence[Any]:
            with interpreters.one() as interpreter:
                began = time.perf_counter()
                try:
                    for tensor, array in zip(lite.inputs, arrays, strict=True):
                        interpreter.set_tensor(tensor, np.asarray(array))
                    interpreter.invoke()
                    if not are_ordinary([interpreter.get_tensor(tensor) for tensor in lite.watched]):
                        raise EngineFailed("numbers that are not ordinary")
                    results = [
                        np.asarray(interpreter.get_tensor(output))
                        if isinstance(output, int)
                        else output.copy()
                        for output in lite.outputs
                    ]
                except (RuntimeError, ValueError) as error:
                    raise EngineFailed(sentence_of(error)) from None
            if (recorder := current_recorder()) is not None:
                recorder.engine_time(time.perf_counter() - began)
            if (scope := current_scope()) is not None:
                scope.stop.check()
            return results

        return run


class Interpreters:
    """Interpreters for one model, created when they are needed and kept; the first one at once.

    An interpreter has one set of tensors, so that two calls cannot share it. Each has its own copy of the
    weights in XNNPACK's form.
    """

    def __init__(self, content: bytes, threads: int, most: int | None = None) -> None:
        _announced()
        self._create = functools.partial(_interpreter, content, threads)
        self._idle: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._idle.put(self._create())
        self._more = threading.Semaphore((most or max(1, processors() // threads)) - 1)
        """How many more there may be."""

    @contextlib.contextmanager
    def one(self) -> Iterator[Any]:
        """An interpreter that no other call has; waits for one if there may be no more."""
        interpreter = self.take()
        try:
            yield interpreter
        finally:
            self.give_back(interpreter)

    def take(self) -> Any:
        """As `one`, for calls in which a microsecond counts."""
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            if not self._more.acquire(blocking=False):
                return self._idle.get()
        try:
            return self._create()
        except BaseException:
            self._more.release()
            raise

    def give_back(self, interpreter: Any) -> None:
        self._idle.put(interpreter)


def _interpreter(content: bytes, threads: int) -> Any:
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
    out = LiteScribe().model
    x, y = (out.tensor([1], "float32") for _ in range(2))
    out.operator("RELU", [x], [y], "", {})
    with _without_errors():
        _interpreter(out.bytes([x], [y]), 1)


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
