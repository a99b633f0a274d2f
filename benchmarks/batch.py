"""Score tables beside TensorFlow's `tf.data` with `saved_model.load`, and beside a plain loop over `Session`.

    python benchmarks/batch.py [NAME…] [--turns 3] [--record docs/evidence/batch.json]

Each contender reads the same TFRecord file and writes its results to Parquet, in a process of its own where
one thread computes; they take turns. Counted are rows per second of processor time (user and system, all
threads) after the first tenth of the rows, so without the start: on a machine with other work, wall times say
little. Answers are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

CONTENDERS = ("tfport run", "session loop", "tensorflow")
MODELS = ("wide_and_deep", "text_lstm", "mobilenet_jpeg")
OUTPUTS = {"wide_and_deep": "score", "text_lstm": "classes", "mobilenet_jpeg": "classes"}
BATCHES = {"wide_and_deep": 1024, "text_lstm": 256, "mobilenet_jpeg": 16}
"""Rows of a call of TensorFlow; the session's loop has those that tfport measured."""
TENTH = 10


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[[], *MODELS], default=[])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--models", metavar="FOLDER", help="where the models are, or will be")
    parser.add_argument("--record", metavar="FILE")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        contender, name, folder, size = args.worker
        print(json.dumps(WORKERS[contender](name, Path(folder, name), int(size))))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.models or scratch
        if not Path(folder, MODELS[-1], "rows.tfrecord").exists():
            subprocess.run([sys.executable, Path(__file__).with_name("batch_models.py"), folder], check=True)
        models = {name: compare(name, folder, args.turns) for name in args.names or MODELS}
    record = {
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, shared with other work"
    } | models
    if args.record:
        Path(args.record).write_text(json.dumps(record, indent=1) + "\n")


def compare(name: str, folder: str, turns: int) -> dict[str, Any]:
    runs: dict[str, list[dict[str, Any]]] = {contender: [] for contender in CONTENDERS}
    size = 0
    for _ in range(turns):
        for contender in CONTENDERS:
            command = [sys.executable, __file__, "--worker", contender, name, folder, str(size)]
            line = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
            runs[contender].append(json.loads(line))
            size = runs["tfport run"][0]["batch_rows"]
    found = {}
    for contender, results in runs.items():
        rate = statistics.median(run["rows"] / run["cpu_seconds"] for run in results)
        memory = max(run["memory"] for run in results)
        found[contender] = {"rows_per_cpu_second": round(rate, 1), "memory": memory, "sum": results[0]["sum"]}
        print(f"{name:16}{contender:14}{rate:10,.1f} rows/CPU-s {memory / 1e6:8,.0f} MB", flush=True)
    sums = [contender["sum"] for contender in found.values()]
    assert max(sums) - min(sums) <= 1e-4 * abs(sums[0]), sums
    return {**found, "batch_rows": size, "turns": turns}


class Clock:
    """Processor time and rows after the first tenth."""

    def __init__(self, rows: int) -> None:
        self.left, self.rows, self.started = rows // TENTH, 0, 0.0

    def add(self, rows: int) -> None:
        if self.started:
            self.rows += rows
        self.left -= rows
        if self.left <= 0 and not self.started:
            self.started = time.process_time()

    def result(self, batch_rows: int, output: Path, name: str) -> dict[str, Any]:
        import numpy as np
        import pyarrow.parquet as pq

        seconds = time.process_time() - self.started
        values = pq.read_table(output).column(OUTPUTS[name]).combine_chunks().flatten()
        weights = np.sin(np.arange(len(values)))  # a sum that depends on the order
        memory = next(
            int(line.split()[1]) << 10
            for line in Path("/proc/self/status").read_text().splitlines()
            if line.startswith("VmHWM")
        )
        return {
            "rows": self.rows, "cpu_seconds": seconds, "batch_rows": batch_rows, "memory": memory,
            "sum": float(weights @ values.to_numpy()),
        }  # fmt: skip


def with_tfport(name: str, folder: Path, size: int) -> dict[str, Any]:
    from tfport.batch import data_reader, scoring_job
    from tfport.batch.scoring_options import scoring_options
    from tfport.batch.scoring_workers import ScorerSetup

    rows, scorers = count(folder), list[Any]()
    clock = Clock(rows)
    data_reader.MOST_ROWS = min(data_reader.MOST_ROWS, rows // TENTH)
    setup = ScorerSetup(str(folder / "model"), scoring_options(threads=1))
    write, scored = scoring_job._PartWriter.write, scoring_job._scored

    def counted(self: Any, part: Any, batch: Any, errors: Any) -> None:
        write(self, part, batch, errors)
        clock.add(batch.num_rows)

    def noted(job: Any, scorer: Any, *rest: Any) -> Any:
        scorers.append(scorer)
        return scored(job, scorer, *rest)

    scoring_job._PartWriter.write, scoring_job._scored = counted, noted  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as out:
        job = scoring_job.ScoringJob(setup, [str(folder / "rows.tfrecord")], Path(out, "o"))
        scoring_job.run_job(job)
        return clock.result(scorers[0].sizes.rows, Path(out, "o"), name)


def with_session(name: str, folder: Path, size: int) -> dict[str, Any]:
    import numpy as np

    import tfport

    session = tfport.Session(str(folder / "model"), threads=1)
    signature = session.signature("serving_default")
    (key,) = session.model.signatures["serving_default"].inputs
    call = lambda rows: signature(**{key: np.array(rows, object)})[OUTPUTS[name]]  # noqa: E731
    return loop(name, folder, call, size, groups(records(folder), size))


def with_tensorflow(name: str, folder: Path, size: int) -> dict[str, Any]:
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    signature = tf.saved_model.load(str(folder / "model")).signatures["serving_default"]
    data = tf.data.TFRecordDataset(str(folder / "rows.tfrecord")).batch(BATCHES[name])
    (key,) = signature.structured_input_signature[1]
    call = lambda rows: signature(**{key: rows})[OUTPUTS[name]].numpy()  # noqa: E731
    return loop(name, folder, call, BATCHES[name], data.prefetch(tf.data.AUTOTUNE))


def loop(name: str, folder: Path, call: Callable[[Any], Any], size: int, batches: Any) -> dict[str, Any]:
    """Score batches and write the results."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    clock = Clock(count(folder))
    with tempfile.TemporaryDirectory() as out:
        path, writer = Path(out, "o.parquet"), None
        for rows in batches:
            values = call(rows)
            flat, width = pa.array(values.reshape(-1)), values.shape[1]
            column = pa.ListArray.from_arrays(pa.array(range(0, len(flat) + 1, width), pa.int32()), flat)
            batch = pa.record_batch({OUTPUTS[name]: column})
            writer = writer or pq.ParquetWriter(path, batch.schema)
            writer.write_batch(batch)
            clock.add(len(values))
        assert writer is not None
        writer.close()
        return clock.result(size, path, name)


def records(folder: Path) -> Iterator[bytes]:
    from tfport.formats.encoding.tfrecord import stream_records

    with open(folder / "rows.tfrecord", "rb") as file:
        yield from stream_records(file.read, str(folder))  # type: ignore[misc]


def groups(rows: Iterator[bytes], size: int) -> Iterator[list[bytes]]:
    while group := list(islice(rows, size)):
        yield group


def count(folder: Path) -> int:
    return sum(1 for _ in records(folder))


WORKERS = dict(zip(CONTENDERS, (with_tfport, with_session, with_tensorflow), strict=True))

if __name__ == "__main__":
    main()
