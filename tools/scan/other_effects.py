"""Ops that write summaries, talk to a debugger or to other machines, or call Python."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from effect_case import NOBODY, Action, effect_case, graph, node, raw

STEP = tf.constant(1, tf.int64)


def writer(folder: Path, queue: int = 0) -> Any:
    """A summary writer that writes at once, or after some events."""
    made = raw.SummaryWriter(shared_name=str(folder))
    raw.CreateSummaryFileWriter(
        writer=made, logdir=str(folder), max_queue=queue, flush_millis=queue * 100000, filename_suffix=".v2"
    )
    return made


def pending(folder: Path) -> Any:
    """A summary writer with an event that is not written yet."""
    made = writer(folder, 10)
    raw.WriteScalarSummary(writer=made, step=STEP, tag="t", value=1.0)
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
    made = pending(folder)
    return lambda: raw.FlushSummaryWriter(writer=made)


@effect_case("CloseSummaryWriter")
def _(folder: Path) -> Action:
    made = pending(folder)
    return lambda: raw.CloseSummaryWriter(writer=made)


DEBUG = {"DebugIdentity": {}, "DebugIdentityV3": {}, "DebugNanCount": {}, "DebugNumericSummary": {}}


def debug(op: str, urls: list[str]) -> Action:
    return graph(
        lambda: getattr(raw, op)(input=tf.ones([2]), tensor_name="x:0", device_name="d", debug_urls=urls)
    )


@effect_case(*DEBUG, waits=True)
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
            input=tf.ones([2]),
            tfdbg_context_id="c",
            op_name="x",
            debug_urls=[f"file://{folder}"],
            tensor_debug_mode=2,
            tfdbg_run_id="r",
            circular_buffer_size=-1,
        )
    )


def quietly(run: Action) -> Any:
    try:
        return run()
    except (tf.errors.OpError, ValueError) as error:
        return error


@effect_case("RpcClient", waits=True)
def _(folder: Path) -> Action:
    def build() -> Any:
        inputs = [tf.constant(NOBODY), tf.constant(100, tf.int64)]
        return node(
            "RpcClient", inputs, [tf.resource, tf.string], shared_name="c", list_registered_methods=True
        )

    return graph(lambda: build().outputs[1])


@effect_case("RpcServer", "RpcServerStart", waits=True)
def _(op: str, folder: Path) -> Action:
    def build() -> Any:
        server = node("RpcServer", [tf.constant("127.0.0.1:0")], [tf.resource]).outputs[0]
        return node("RpcServerStart", [server], [])

    return graph(build)


@effect_case("PyFunc", "PyFuncStateless", "EagerPyFunc")
def _(op: str, folder: Path) -> Action:
    def called(*_: Any) -> Any:
        os.access("/tfport-mark/called", os.F_OK)
        return np.float32(1)

    call = {
        "PyFunc": lambda x: tf.numpy_function(called, [x], tf.float32),
        "PyFuncStateless": lambda x: tf.numpy_function(called, [x], tf.float32, stateful=False),
        "EagerPyFunc": lambda x: tf.py_function(called, [x], tf.float32),
    }[op]
    return graph(lambda: call(tf.constant(1.0)))
