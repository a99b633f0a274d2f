"""Measure one contender in this process: `python -m tfport.runtime.bench.worker JOB.json`.

It loads the model, calls it once, then repeatedly for some seconds, and prints the times as JSON. The time
to the first answer includes importing the contender.
"""

from __future__ import annotations

import time

STARTED = time.perf_counter()

import json  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

Call = Callable[[dict[str, Any]], Any]
MOVED = 0.05
"""A difference from the CPU, as a part of the largest number, that rounding does not make."""


def tfport_call(job: dict[str, Any]) -> Call:
    from tfport.runtime.custom.added_ops import registry_with
    from tfport.runtime.engines.gpu.gpu_options import GpuOptions
    from tfport.runtime.session import Session

    registry = registry_with(job.get("libraries", ()), job.get("ops_files", ()))
    session = Session(
        job["model"],
        threads=job["threads"],
        engine=job["engine"],
        device=job.get("device", "cpu"),
        gpu=GpuOptions(**job.get("gpu", {})),
        registry=registry,
    )
    call = session.signature(job["signature"])
    return lambda inputs: call(**inputs)


def tensorflow_call(job: dict[str, Any]) -> Call:
    import tensorflow as tf

    if job["threads"]:
        tf.config.threading.set_intra_op_parallelism_threads(job["threads"])
    model = tf.saved_model.load(job["model"])
    call = model.signatures[job["signature"]]
    kept: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def run(inputs: dict[str, Any]) -> Any:
        if not kept or kept[0][0] is not inputs:
            kept[:] = [(inputs, {name: tf.constant(array) for name, array in inputs.items()})]
        return {name: value.numpy() for name, value in call(**kept[0][1]).items()}

    run.model = model  # type: ignore[attr-defined]  # keeps the variables alive
    return run


CONTENDERS: dict[str, Callable[[dict[str, Any]], Call]] = {
    "tfport": tfport_call,
    "tensorflow": tensorflow_call,
}


def read_inputs(path: str) -> dict[str, Any]:
    import numpy as np

    with np.load(path, allow_pickle=False) as file:
        return {k: file[k].astype(object) if file[k].dtype.kind == "S" else file[k] for k in file.files}


def measure(job: dict[str, Any], make: Callable[[dict[str, Any]], Call]) -> dict[str, Any]:
    """Load the model, call it once, then repeatedly until the time is over."""
    call = make(job)
    inputs = read_inputs(job["inputs"])
    call(inputs)
    first = time.perf_counter() - STARTED
    if job["contender"] == "tfport" and job.get("device", "cpu") != "cpu":
        prepare(call, inputs)
    end = time.perf_counter() + job["seconds"]
    latencies: list[float] = []
    while not latencies or time.perf_counter() < end:
        started = time.perf_counter()
        call(inputs)
        latencies.append(time.perf_counter() - started)
    result = {"first": first, "latencies": latencies, "resident": resident()}
    if job.get("compares_order"):
        on_cpu = make({**job, "device": "cpu"})
        result["changes_order"] = changes_order(on_cpu(inputs), call(inputs))
    return result


def prepare(call: Call, inputs: dict[str, Any]) -> None:
    """Wait for what a GPU prepares beside its calls, once inputs come back."""
    from tfport.runtime.engines.gpu.preparation import PREPARATIONS, RUNS_TO_PREPARE

    for _ in range(RUNS_TO_PREPARE):
        call(inputs)
    PREPARATIONS.wait()


def changes_order(expected: dict[str, Any], answers: dict[str, Any]) -> bool:
    """Whether another number is the largest of its row, or numbers are so different that rows moved."""
    import numpy as np

    for name, wanted in expected.items():
        answer = answers[name]
        if wanted.shape != answer.shape:
            return True
        if wanted.dtype.kind != "f":
            if wanted.dtype.kind in "iub" and not np.array_equal(wanted, answer):
                return True
        elif wanted.ndim and wanted.size:
            moved = np.abs(wanted - answer).max() > MOVED * np.abs(wanted).max()
            if moved or not np.array_equal(wanted.argmax(-1), answer.argmax(-1)):
                return True
    return False


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    from tfport.operating_system import resident_memory

    return resident_memory()


def main(path: str) -> None:
    job = json.loads(Path(path).read_text("utf-8"))
    print(json.dumps(measure(job, CONTENDERS[job["contender"]])))


if __name__ == "__main__":
    main(sys.argv[1])
