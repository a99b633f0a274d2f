"""Ops that write summaries, talk to a debugger or to other machines, or call Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from effect_case import NOBODY, Action, effect_case, graph, raw

STEP = tf.constant(1, tf.int64)


def writer(folder: Path) -> Any:
    """A summary writer that writes at once."""
    made = raw.SummaryWriter(shared_name=str(folder))
    raw.CreateSummaryFileWriter(
        writer=made, logdir=str(folder), max_queue=0, flush_millis=0, filename_suffix=".v2"
    )
    return made


@effect_case("CreateSummaryFileWriter")
def _(folder: Path) -> Action:
    return lambda: writer(folder)


@effect_case("CreateSummaryDbWriter")
def _(folder: Path) -> Action:
    made = raw.SummaryWriter(shared_name=str(folder))
    return lambda: raw.CreateSummaryDbWriter(
        writer=made, db_uri=str(folder / "s.db"), experiment_name="e", run_name="r", user_name="u"
    )


SUMMARIES: dict[str, Callable[[Any], Any]] = {
    "WriteScalarSummary": lambda w: raw.WriteScalarSummary(writer=w, step=STEP, tag="t", value=1.0),
    "WriteHistogramSummary": lambda w: raw.WriteHistogramSummary(
        writer=w, step=STEP, tag="t", values=[1.0, 2.0]
    ),
    "WriteImageSummary": lambda w: raw.WriteImageSummary(
        writer=w, step=STEP, tag="t", tensor=tf.zeros([1, 2, 2, 1]), bad_color=tf.zeros([1], tf.uint8)
    ),
    "WriteAudioSummary": lambda w: raw.WriteAudioSummary(
        writer=w, step=STEP, tag="t", tensor=tf.zeros([1, 8]), sample_rate=8000.0
    ),
    "WriteSummary": lambda w: raw.WriteSummary(writer=w, step=STEP, tensor=1.0, tag="t", summary_metadata=""),
    "WriteRawProtoSummary": lambda w: raw.WriteRawProtoSummary(writer=w, step=STEP, tensor=""),
    "WriteGraphSummary": lambda w: raw.WriteGraphSummary(writer=w, step=STEP, tensor=""),
    "ImportEvent": lambda w: raw.ImportEvent(
        writer=w, event=tf.compat.v1.Event(step=1, file_version="x").SerializeToString()
    ),
}


@effect_case(*SUMMARIES)
def _(op: str, folder: Path) -> Action:
    made = writer(folder)
    return lambda: SUMMARIES[op](made)


@effect_case("FlushSummaryWriter")
def _(folder: Path) -> Action:
    made = writer(folder)
    return lambda: raw.FlushSummaryWriter(writer=made)


@effect_case("CloseSummaryWriter")
def _(folder: Path) -> Action:
    made = writer(folder)
    return lambda: raw.CloseSummaryWriter(writer=made)


DEBUG = {"DebugIdentity": {}, "DebugIdentityV3": {}, "DebugNanCount": {}, "DebugNumericSummary": {}}


def debug(op: str, urls: list[str]) -> Action:
    return graph(
        lambda: getattr(raw, op)(input=tf.ones([2]), tensor_name="x:0", device_name="d", debug_urls=urls)
    )


@effect_case(*DEBUG)
def _(op: str, folder: Path) -> Action:
    both = debug(op, [f"file://{folder}"]), debug(op, [f"grpc://{NOBODY}"])
    return lambda: [quietly(run) for run in both]


@effect_case(*DEBUG, harmless=True)
def _(op: str, folder: Path) -> Action:
    return debug(op, [])


@effect_case("DebugIdentityV2")
def _(folder: Path) -> Action:
    return graph(
        lambda: raw.DebugIdentityV2(
            input=tf.ones([2]), tfdbg_context_id="c", op_name="x", debug_urls=[f"file://{folder}"],
            tensor_debug_mode=2, tfdbg_run_id="r", circular_buffer_size=-1,
        )  # fmt: skip
    )


def quietly(run: Action) -> Any:
    try:
        return run()
    except (tf.errors.OpError, ValueError) as error:
        return error


@effect_case("RpcClient")
def _(folder: Path) -> Action:
    return lambda: raw.RpcClient(
        server_address=NOBODY, timeout_in_ms=tf.constant(100, tf.int64), list_registered_methods=True
    )


@effect_case("RpcServerStart")
def _(folder: Path) -> Action:
    server = raw.RpcServer(server_address="127.0.0.1:0")
    return lambda: raw.RpcServerStart(server=server)


@effect_case("RpcServer")
def _(folder: Path) -> Action:
    def serve() -> Any:
        server = raw.RpcServer(server_address="127.0.0.1:0")
        raw.RpcServerStart(server=server)
        return server

    return serve


CALLED: list[str] = []
"""The ops whose Python function was called."""


@effect_case("PyFunc", "PyFuncStateless", "EagerPyFunc")
def _(op: str, folder: Path) -> Action:
    def called(*_: Any) -> Any:
        CALLED.append(op)
        (folder / "python").write_text("called")
        return np.float32(1)

    call = {
        "PyFunc": lambda x: tf.numpy_function(called, [x], tf.float32),
        "PyFuncStateless": lambda x: tf.numpy_function(called, [x], tf.float32, stateful=False),
        "EagerPyFunc": lambda x: tf.py_function(called, [x], tf.float32),
    }[op]
    return graph(lambda: call(tf.constant(1.0)))
