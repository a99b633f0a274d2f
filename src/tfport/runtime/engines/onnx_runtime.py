"""ONNX Runtime on the CPU, and its error messages in tfport's form."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnxruntime as ort

from tfport.errors import Error, ResourceExhausted
from tfport.operating_system import processors
from tfport.runtime.bounds.run_scope import current_scope, limit_message_of
from tfport.runtime.bounds.stop_signal import StopHandle
from tfport.runtime.engines.engine import (
    NO_HINTS,
    Compiled,
    Engine,
    EngineFailed,
    IslandHints,
    IslandRejected,
)
from tfport.runtime.engines.flush_denormals import CAN_FLUSH, flushed, mode_kept
from tfport.runtime.engines.needless_optimizers import needless_optimizers
from tfport.runtime.engines.pool_sizes import PoolWindow, check_pool_sizes, with_pool_sizes
from tfport.runtime.engines.provider_kernels import ProviderKernels
from tfport.runtime.engines.session_settings import save_optimized, session_options, share, to_share
from tfport.runtime.engines.shared_arena import KeptMemory, returning, shrink_arenas, use_shared_arena
from tfport.runtime.onnx.least_size import ANY, NOT_EMPTY
from tfport.runtime.passes.pass_list import CPU_FORM
from tfport.runtime.profile.engine_events import record_events
from tfport.runtime.profile.recorder import Recorder, current_recorder
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import replace

if TYPE_CHECKING:
    from numpy.typing import NDArray


BLOCKED_LAYOUT = ("NchwcTransformer",)
"""With this optimizer, a convolution over an empty image divides by zero and kills the process."""
CONVOLUTION = b"Conv"
"""What a serialized model with convolutions contains: for them, denormal numbers are flushed to zero."""
NO_MEMORY = (
    "is smaller than requested bytes", "Failed to allocate memory", "bad_alloc", "bad allocation",
    "CUDA failure 2: out of memory", "CUBLAS_STATUS_ALLOC_FAILED",
)  # fmt: skip
"""How ONNX Runtime reports that memory cannot be allocated, or that the limit of its arena is reached."""
LARGEST_NEED = 1 << 60
"""More bytes than any tensor has: the size that a kernel computed is negative."""
_KERNELS = ProviderKernels()
"""Asked once per process."""


class OnnxRuntime(Engine):
    """Compiles islands to ONNX Runtime sessions; any thread may run them."""

    name = "ONNX Runtime"
    checks_indices = True
    form = CPU_FORM

    def __init__(
        self,
        threads: int | None = None,
        *,
        spins: bool = True,
        max_bytes: int = 0,
        shares_arena: bool = False,
    ) -> None:
        """`spins`: idle threads spin while they wait; faster if nothing else needs the core.

        `max_bytes`: memory for the tensors of all runs together; 0 means no limit.
        `shares_arena`: that memory is in the arena of the process (`shared_arena`). A limit implies this.
        """
        self.threads = threads or processors()
        self.spins, self.max_bytes = spins, max_bytes
        self.shares_arena = shares_arena or max_bytes > 0

    def takes(self, node: OnnxNode) -> bool:
        if any(node.programs):
            return True  # their inner nodes were checked one by one
        return _KERNELS.has(node)

    def compile(
        self,
        model: bytes,
        weights: Mapping[str, NDArray[Any]],
        inputs: Sequence[str],
        outputs: Sequence[str],
        hints: IslandHints = NO_HINTS,
    ) -> Compiled:
        values = to_share(weights)
        needless = needless_optimizers(model)
        convolves = CONVOLUTION in model
        flushes = CAN_FLUSH and convolves

        def opened(options: ort.SessionOptions, checked: bool) -> CheckedSession:
            share(options, values)
            if checked:
                return _checked_session(model, options, flushes, needless)
            return _session(model, options, flushes, needless), []

        return self._compiled(opened, convolves, inputs, outputs, hints)

    def reopen(
        self, path: Path, inputs: Sequence[str], outputs: Sequence[str], hints: IslandHints
    ) -> Compiled:
        """A model that `IslandHints.save_as` wrote, as a function; its weights are mapped, not read.

        It can be called with any input that the model takes: an island with windows that may not fit into
        an image is not written.
        """
        convolves = CONVOLUTION in path.read_bytes()
        flushes = CAN_FLUSH and convolves

        def opened(options: ort.SessionOptions, checked: bool) -> CheckedSession:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            return _session(str(path), options, flushes), []

        now = replace(hints, in_advance=True)  # a damaged file is an error before the first call
        return self._compiled(opened, convolves, inputs, outputs, now)

    def _compiled(
        self,
        opened: Callable[[ort.SessionOptions, bool], CheckedSession],
        convolves: bool,
        inputs: Sequence[str],
        outputs: Sequence[str],
        hints: IslandHints,
    ) -> Compiled:
        flushes = CAN_FLUSH and convolves
        run = functools.partial(flushed, _run) if flushes else _run
        work, least = hints.work, hints.least_size
        usual_threads = 1 if work.may_be_light else self.threads

        @functools.cache
        def session(threads: int, checked: bool) -> CheckedSession:
            options = session_options(threads, self.spins and hints.alone)
            # planning which tensors share memory takes time with the square of the nodes; the arena
            # needs no more memory without it
            options.enable_mem_reuse = False
            # from the second run on, a pattern needs one block for all tensors beside the memory of the
            # first run; without it the many small tensors of other islands take more time
            options.enable_mem_pattern = not convolves or (work.is_fixed and work.may_be_light)
            if hints.host_outputs:  # what flags are computed of is read early, and free early
                options.execution_order = ort.ExecutionOrder.PRIORITY_BASED
            if flushes:
                options.add_session_config_entry("session.set_denormal_as_zero", "1")
            if self.shares_arena:
                use_shared_arena(options, self.max_bytes)
            if hints.save_as is not None and threads == usual_threads and not checked:
                save_optimized(options, hints.save_as)
            return opened(options, checked)

        if self.max_bytes:
            run = functools.partial(_run_again, run)
        elif not (self.shares_arena or work.is_fixed):
            run = functools.partial(_returning, run, KeptMemory())
        wanted, fed = list(outputs), list(inputs)
        if least == ANY and (self.threads == 1 or work.is_fixed or not work.may_be_light):
            usual, _ = session(usual_threads, False)
            return lambda arrays: run(usual, wanted, dict(zip(fed, arrays, strict=True)))
        if hints.in_advance or hints.save_as is not None:
            session(usual_threads, False)  # otherwise the first call opens the one that it needs

        def compiled(arrays: Sequence[Any]) -> Sequence[Any]:
            threads = 1 if work.is_light(arrays) else self.threads
            selected, windows = session(threads, least != ANY and may_run_out(arrays, least))
            feeds = dict(zip(fed, arrays, strict=True))
            if not windows:
                return run(selected, wanted, feeds)
            results = run(selected, [*wanted, *(window.output for window in windows)], feeds)
            check_pool_sizes(windows, results[len(wanted) :])
            return results[: len(wanted)]

        return compiled


def _returning(
    run: Callable[..., Sequence[Any]],
    kept: KeptMemory,
    session: ort.InferenceSession,
    names: list[str],
    feeds: dict[str, Any],
) -> Sequence[Any]:
    """A run, after some of which the arena of the session returns its memory."""
    if kept.is_returned_after(feeds.values()):
        return run(session, names, feeds, returns=True)
    return run(session, names, feeds)


def _run_again(run: Callable[..., Sequence[Any]], *arguments: Any) -> Sequence[Any]:
    """A run; with too little memory, a second one after unused memory of the arena was freed."""
    try:
        return run(*arguments)
    except ResourceExhausted:
        shrink_arenas()
        try:
            return run(*arguments)
        except ResourceExhausted:
            shrink_arenas()
            raise


def _run(
    session: ort.InferenceSession, names: list[str], feeds: dict[str, Any], *, returns: bool = False
) -> Sequence[Any]:
    """The answers; with `returns`, the arena then returns the memory that nothing uses."""
    scope = current_scope()
    options = None if scope is None else scope.stop.handle(ort.RunOptions, stoppable)
    if returns:
        options = returning(options)
    recorder = current_recorder()
    try:
        if recorder is None:
            results: Sequence[Any] = session.run(names, feeds, options)
        else:
            results = _timed_run(session, names, feeds, options, recorder)
    except Exception as error:
        if scope is not None:
            scope.stop.check()
        raise run_error(error) from None
    return results


def _timed_run(
    session: ort.InferenceSession, names: list[str], feeds: dict[str, Any], options: Any, recorder: Recorder
) -> Sequence[Any]:
    """A run whose time without conversions from and to NumPy is recorded."""
    values = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in feeds.items()}
    started = time.perf_counter()
    results = session.run_with_ort_values(names, values, options)
    recorder.engine_time(time.perf_counter() - started)
    return [result.numpy() for result in results]


def stoppable() -> StopHandle:
    """Options of a run that can be ended: ONNX Runtime looks at them between two nodes."""
    options = ort.RunOptions()
    return options, lambda: setattr(options, "terminate", True)


def run_error(error: Exception, where: str = "the engine") -> Error:
    """What an error of a run means; `where` has too little memory."""
    message = first_line(error)
    if (limit := limit_message_of(message)) is not None:
        return ResourceExhausted(limit)
    return _memory_error(message, where, "for the tensors of its runs") or EngineFailed(node_message(message))


def session_error(error: Exception, engine: str) -> Error:
    """Why a session cannot be made."""
    message = first_line(error)
    rejected = IslandRejected(f"{engine} rejects the model that tfport made: {message}")
    return _memory_error(message, engine, "for the weights") or rejected


def _memory_error(message: str, where: str, what: str) -> Error | None:
    if not any(text in message for text in NO_MEMORY):
        return None
    nodes = re.findall(r"Name:'\w+:([^'#]*)", message)
    node = f"`{nodes[-1]}`: " if nodes else ""
    size = re.search(r"requested (?:bytes|buffer) of (?:size )?(\d+)", message)
    if size and int(size[1]) > LARGEST_NEED:
        return None
    needed = f"{int(size[1]):,} more bytes" if size else "more memory"
    return ResourceExhausted(f"{node}{where} cannot allocate {needed} {what}")


def _session(
    model: bytes | str, options: ort.SessionOptions, flushes: bool, without: Sequence[str] = ()
) -> ort.InferenceSession:
    recorder = current_recorder()
    if recorder is not None and recorder.engine_events:
        record_events(options, recorder.engine_events)
    try:
        # the first session of a process sets the mode of the thread that makes it, for good;
        # on ARM64 the threads of a session have the mode of the thread that makes it
        in_mode = flushed if flushes else mode_kept
        session = in_mode(
            ort.InferenceSession,
            model,
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=list(without),
        )
    except Exception as error:  # ONNX Runtime raises many exception classes
        raise session_error(error, "ONNX Runtime") from None
    if recorder is not None and recorder.engine_events:
        recorder.engine_session(session)
    return session


CheckedSession = tuple[ort.InferenceSession, list[PoolWindow]]
"""A session, and the windows to check after each run."""


def _checked_session(
    model: bytes, options: ort.SessionOptions, flushes: bool, without: Sequence[str]
) -> CheckedSession:
    """A session for small images."""
    checked, windows = with_pool_sizes(model)
    return _session(checked, options, flushes, (*without, *BLOCKED_LAYOUT)), windows


def may_run_out(arrays: Sequence[Any], least_size: int) -> bool:
    """Whether an image or sequence is so small that pooling and strides may shrink it to nothing."""
    if least_size <= NOT_EMPTY:
        return any(a.size < least_size for a in arrays)
    return any(
        sum(size < least_size for size in a.shape[1:]) > 1 if a.ndim > 3 else a.shape[1] < least_size
        for a in arrays
        if a.ndim > 1
    )


def first_line(error: Exception) -> str:
    """The first line of the error, without source locations of ONNX Runtime."""
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__


_RUN = re.compile(
    r"\[ONNXRuntimeError\] : \d+ : \w+ : Non-zero status code returned while running \w+ node\. "
    r"Name:'(?P<op>\w+):(?P<node>[^'#]*)#?\d*' Status Message: (?P<text>.+)",
    re.DOTALL,
)
# a file of ONNX Runtime, its function, and the condition that it checked
_LOCATION = re.compile(r"\S+:\d+ .*? was false\. (?=\S)", re.DOTALL)


def node_message(message: str) -> str:
    """The message in tfport's form, without source locations; unchanged unless it is about one node.

    node_message("[ONNXRuntimeError] : … Name:'Reshape:a/b#7' Status Message: …/reshape_helper.h:91 … …")
    "`a/b` (Reshape): The input tensor cannot be reshaped to the requested shape. …"

    `onnx.model` names nodes: op, name in the model, and a number.
    """
    match = _RUN.fullmatch(message)
    if match is None:
        return message
    text = _LOCATION.sub("", match["text"], count=1) if _LOCATION.match(match["text"]) else match["text"]
    return f"`{match['node']}` ({match['op']}): {text}"
