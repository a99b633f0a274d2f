"""Score tables beside TensorFlow's `tf.data` with `saved_model.load`, and beside a plain loop over `Session`.

    python benchmarks/batch.py [NAME…] [--turns 3] [--record docs/evidence/batch.json]
    python benchmarks/batch.py [NAME…] --workers 1 2 8 16 [--copies 2]

Each contender reads the same TFRecord file and writes its results to Parquet, in a process of its own where
one thread computes; they take turns. Counted are rows per second of processor time (user and system, all
threads) after the first tenth of the rows, so without the start: on a machine with other work, wall times say
little, and are counted, too. Answers are compared.

With `--workers`, `tfport run` alone scores the file several times over, more often with more workers: rows
per second of wall time in the second half, and the memory of each process (shared pages divided by those that
share them). One thread computes in a worker, with the same rows per call, so that answers must be equal.
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
from functools import partial
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
    parser.add_argument("--workers", type=int, nargs="+", default=[], metavar="N")
    parser.add_argument("--copies", type=int, default=2, help="of the file for each worker")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        contender, name, folder, size = args.worker
        contend = (
            WORKERS[contender]
            if contender in WORKERS
            else partial(with_workers, *map(int, contender.split("x")))
        )
        print(json.dumps(contend(name, Path(folder, name), int(size))))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.models or scratch
        if not Path(folder, MODELS[-1], "rows.tfrecord").exists():
            subprocess.run([sys.executable, Path(__file__).with_name("batch_models.py"), folder], check=True)
        models = {
            name: scale(name, folder, args.workers, args.copies)
            if args.workers
            else compare(name, folder, args.turns)
            for name in args.names or MODELS
        }
    record = {"machine": f"{platform.machine()}, {os.cpu_count()} processors"} | models
    if args.record:
        Path(args.record).write_text(json.dumps(record, indent=1) + "\n")


def run(contender: str, name: str, folder: str, size: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--worker", contender, name, folder, str(size)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def compare(name: str, folder: str, turns: int) -> dict[str, Any]:
    runs: dict[str, list[dict[str, Any]]] = {contender: [] for contender in CONTENDERS}
    size = 0
    for _ in range(turns):
        for contender in CONTENDERS:
            runs[contender].append(run(contender, name, folder, size))
            size = runs["tfport run"][0]["batch_rows"]
    found = {}
    for contender, results in runs.items():
        rates = sorted(round(run["rows"] / run["cpu_seconds"], 1) for run in results)
        wall = statistics.median(run["rows"] / run["seconds"] for run in results)
        memory = max(run["memory"] for run in results)
        found[contender] = {
            "rows_per_cpu_second": statistics.median(rates), "rounds": rates,
            "rows_per_second": round(wall, 1), "memory": memory, "sum": results[0]["sum"],
        }  # fmt: skip
        print(
            f"{name:16}{contender:14}{statistics.median(rates):10,.1f} rows/CPU-s "
            f"{wall:10,.1f} rows/s {memory / 1e6:8,.0f} MB   {rates}",
            flush=True,
        )
    sums = [contender["sum"] for contender in found.values()]
    assert max(sums) - min(sums) <= 1e-4 * abs(sums[0]), sums
    sizes = [result["batch_rows"] for result in runs["tfport run"]]
    return {**found, "batch_rows": sizes, "turns": turns}


def scale(name: str, folder: str, workers: list[int], copies: int) -> dict[str, Any]:
    """What each number of workers does; the answers must be equal, to the bit."""
    found = {}
    for number in workers:
        result = found[number] = run(f"{number}x{copies * number}", name, folder, BATCHES[name])
        rate, memory, own = (result[key] for key in ("rows_per_second", "memory", "memory_of_a_worker"))
        print(
            f"{name:16}{number:3} workers {result['rows']:12,} rows {rate:12,.1f} rows/s "
            f"{memory / 1e6:8,.0f} MB, a worker {own / 1e6:8,.0f} MB",
            flush=True,
        )
    assert len({result["sum"] for result in found.values()}) == 1, found
    return found


class Clock:
    """Processor time and rows after the first tenth."""

    def __init__(self, rows: int) -> None:
        self.left, self.rows, self.started, self.began = rows // TENTH, 0, 0.0, 0.0

    def add(self, rows: int) -> None:
        if self.started:
            self.rows += rows
        self.left -= rows
        if self.left <= 0 and not self.started:
            self.started, self.began = time.process_time(), time.perf_counter()

    def result(self, batch_rows: int, output: Path, name: str) -> dict[str, Any]:
        seconds, wall = time.process_time() - self.started, time.perf_counter() - self.began
        return {
            "rows": self.rows, "cpu_seconds": seconds, "seconds": wall, "batch_rows": batch_rows,
            "memory": memory_of("self/status", "VmHWM"), "sum": ordered_sum(output, name),
        }  # fmt: skip


def ordered_sum(output: Path, name: str, rows: int | None = None) -> float:
    """A sum of the answers, or of the first ones, that depends on their order."""
    import numpy as np
    import pyarrow.parquet as pq

    table = pq.read_table(output, columns=[OUTPUTS[name]]).slice(0, rows)
    values = table.column(0).combine_chunks().flatten().to_numpy()
    return float(np.sin(np.arange(len(values))) @ values)


def memory_of(path: str, field: str) -> int:
    """A number of a file about a process."""
    lines = Path("/proc", path).read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field))


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


def with_workers(workers: int, copies: int, name: str, folder: Path, size: int) -> dict[str, Any]:
    """Score the file several times over."""
    from tfport.batch import data_reader, scoring_job, scoring_workers
    from tfport.batch.scoring_options import scoring_options
    from tfport.batch.scoring_workers import ScorerSetup

    rows, processes, memory = count(folder), list[Any](), list[int]()
    data_reader.MOST_ROWS = min(data_reader.MOST_ROWS, max(size, rows // TENTH))
    half, done, begun = rows * copies // 2, 0, [0, 0.0]
    write, start = scoring_job._PartWriter.write, scoring_workers._ScoringWorker._start

    def noted(worker: Any) -> None:
        start(worker)
        processes.append(worker.process.pid)

    def counted(self: Any, part: Any, batch: Any, errors: Any) -> None:
        nonlocal done
        write(self, part, batch, errors)
        done += batch.num_rows
        if done >= half and not begun[1]:
            begun[:] = done, time.perf_counter()
        if done >= half and not memory:
            memory[:] = [memory_of(f"{pid}/smaps_rollup", "Pss:") for pid in processes or ["self"]]

    scoring_workers._ScoringWorker._start = noted  # type: ignore[method-assign]
    scoring_job._PartWriter.write = counted  # type: ignore[method-assign]
    options = scoring_options(threads=1, batch_rows=size)
    with tempfile.TemporaryDirectory() as out:
        setup = ScorerSetup(str(folder / "model"), options, workers=workers)
        scoring_job.run_job(
            scoring_job.ScoringJob(setup, [str(folder / "rows.tfrecord")] * copies, Path(out, "o"))
        )
        seconds = time.perf_counter() - begun[1]
        return {
            "rows": done, "rows_per_second": round((done - begun[0]) / seconds, 1),
            "memory": memory_of("self/status", "VmHWM"), "memory_of_a_worker": sum(memory) // len(memory),
            "sum": ordered_sum(Path(out, "o"), name, rows),
        }  # fmt: skip


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
