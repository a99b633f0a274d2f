"""One job in Spark, Beam and Ray: with tfport, and with TensorFlow as each engine's documentation shows it.

    python benchmarks/engines.py MODELS [ENGINE…] [--record docs/evidence/engines.json]

MODELS is the folder of `batch_models.py`; the job scores its serialized Examples with the wide-and-deep model
and adds up the answers, which are compared. Each contender is a process of its own, with the processes that
its engine starts. Counted are the processor seconds of all of them for the job after a smaller one, so
without their start, and the largest memory of all together. Spark and Ray get two processors, a pool one
actor.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

MODEL, OUTPUT = "wide_and_deep", "score"
ENGINES, CONTENDERS = ("spark", "beam", "ray"), ("tfport", "tensorflow")
FIRST = 2_000
"""Rows of the smaller job."""
BATCH = 1024
"""Rows of a call of TensorFlow."""
BEGIN, END = "begin", "end"
Job = Callable[[str], float]
"""The sum of the answers for a file."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models")
    parser.add_argument("engines", nargs="*", choices=[[], *ENGINES], default=[])
    parser.add_argument("--record", metavar="FILE")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work(*args.worker, Path(args.models))
        return
    record: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, shared with other work"
    }
    for engine in args.engines or ENGINES:
        found = {contender: measured(engine, contender, args.models) for contender in CONTENDERS}
        sums = [each["sum"] for each in found.values()]
        assert abs(sums[0] - sums[1]) <= 1e-4 * abs(sums[0]), sums
        record[engine] = found
    if args.record:
        Path(args.record).write_text(json.dumps(record, indent=1) + "\n")


def measured(engine: str, contender: str, models: str) -> dict[str, float]:
    """Run a contender in a session of its own; what its job cost."""
    command = [sys.executable, __file__, models, "--worker", engine, contender]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    most, ended = [0], Event()

    def watch() -> None:
        while not ended.wait(0.5):
            most[0] = max(most[0], usage(process.pid)[1])

    Thread(target=watch, daemon=True).start()
    cpu = {}
    try:
        for line in process.stdout:
            word, *rest = line.split()
            if word in (BEGIN, END):
                cpu[word] = usage(process.pid)[0]
            if word == END:
                rows, total = int(rest[0]), float(rest[1])
                break
    finally:
        ended.set()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if END not in cpu:
        raise SystemExit(f"{engine}: {contender} ended before its job was done; its own error is above")
    seconds = cpu[END] - cpu[BEGIN]
    print(f"{engine:8}{contender:12}{rows / seconds:10,.0f} rows/CPU-s {most[0] / 1e6:8,.0f} MB", flush=True)
    return {
        "rows": rows, "cpu_seconds": round(seconds, 2), "rows_per_cpu_second": round(rows / seconds),
        "memory": most[0], "sum": total,
    }  # fmt: skip


def usage(session: int) -> tuple[float, int]:
    """The processor seconds and the memory, shared pages once, of the processes of a session."""
    cpu, memory, tick = 0.0, 0, os.sysconf("SC_CLK_TCK")
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                cpu += sum(map(int, fields[11:15])) / tick
                lines = (folder / "smaps_rollup").read_text().splitlines()
                memory += next(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
        except (OSError, ValueError, StopIteration):  # it ended
            continue
    return cpu, memory


# What a contender does, in its process.


def work(engine: str, contender: str, models: Path) -> None:
    from itertools import islice

    import pyarrow as pa
    import pyarrow.parquet as pq

    from tfport.formats.encoding.tfrecord import record, stream_records

    with tempfile.TemporaryDirectory() as folder, open(models / MODEL / "rows.tfrecord", "rb") as stream:
        rows = [row for row in stream_records(stream.read, "") if isinstance(row, bytes)]
        files = {}
        for name, part in ("first", list(islice(rows, FIRST))), ("all", rows):
            files[name] = str(Path(folder, f"{name}.tfrecord" if engine == "beam" else f"{name}.parquet"))
            if engine == "beam":
                Path(files[name]).write_bytes(b"".join(map(record, part)))
            else:
                pq.write_table(pa.table({"rows": pa.array(part, pa.binary())}), files[name])
        job: Job = JOBS[engine, contender](str(models / MODEL / "model"))
        job(files["first"])
        print(BEGIN, flush=True)
        total = job(files["all"])
        print(END, len(rows), total, flush=True)
        signal.pause()  # until its processes are counted


def signature_of(model: str) -> Callable[[Any], Any]:
    """The signature in TensorFlow, as a function of a list of Examples."""
    import tensorflow as tf

    loaded = tf.saved_model.load(model)
    call = loaded.signatures["serving_default"]
    return lambda rows, kept=loaded: call(rows=tf.constant(rows))[OUTPUT].numpy()[:, 0]


def spark_session() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    return SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()


def spark_tfport(model: str) -> Job:
    from tfport.spark import predict

    spark = spark_session()

    def job(path: str) -> float:
        scored = predict(spark.read.parquet(path), model, shared_path=True)
        return float(scored.selectExpr(f"sum({OUTPUT}[0])").collect()[0][0])

    return job


def spark_tensorflow(model: str) -> Job:
    """An iterator of Series: a pandas UDF that loads the model once for many batches."""
    import pandas as pd
    from pyspark.sql.functions import pandas_udf

    spark = spark_session()

    def score(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        call = signature_of(model)
        for batch in batches:
            yield pd.Series(call(batch.tolist()))

    score.__annotations__ = {"batches": Iterator[pd.Series], "return": Iterator[pd.Series]}
    udf = pandas_udf(score, "float")

    def job(path: str) -> float:
        scored = spark.read.parquet(path).select(udf("rows").alias(OUTPUT))
        return float(scored.selectExpr(f"sum({OUTPUT})").collect()[0][0])

    return job


def beam_job(handler: Any, element: Callable[[bytes], Any], value: Callable[[Any], float]) -> Job:
    import apache_beam as beam
    from apache_beam.ml.inference.base import RunInference

    def job(path: str) -> float:
        with tempfile.TemporaryDirectory() as folder:
            with beam.Pipeline() as pipeline:
                rows = pipeline | beam.io.ReadFromTFRecord(path) | "rows" >> beam.Map(element)
                values = rows | RunInference(handler) | "values" >> beam.Map(value)
                total = values | beam.CombineGlobally(sum)
                _ = total | beam.io.WriteToText(f"{folder}/sum", shard_name_template="")
            return float(Path(folder, "sum").read_text())

    return job


def beam_tfport(model: str) -> Job:
    from tfport.beam import TfportModelHandler

    handler = TfportModelHandler(model, max_batch_size=BATCH)
    return beam_job(handler, lambda row: row, lambda result: float(result.inference[OUTPUT][0]))


def beam_tensorflow(model: str) -> Job:
    """A handler of one's own: the stock one calls `load_model`, which refuses SavedModels since Keras 3."""
    from apache_beam.ml.inference.base import ModelHandler, PredictionResult

    class SavedModelHandler(ModelHandler):  # type: ignore[misc]
        def load_model(self) -> Any:
            return signature_of(model)

        def run_inference(self, batch: Any, model: Any, inference_args: Any = None) -> Any:
            return [PredictionResult(*pair) for pair in zip(batch, model(list(batch)), strict=True)]

        def batch_elements_kwargs(self) -> Any:
            return {"max_batch_size": BATCH}

    return beam_job(SavedModelHandler(), lambda row: row, lambda result: float(result.inference))


def ray_job(scorer: type, batch_format: str, value: Callable[[Any], Any]) -> Callable[[str], Job]:
    import ray
    from ray.data import ActorPoolStrategy, read_parquet

    os.environ.setdefault("RAY_DASHBOARD_STARTUP_TIMEOUT_S", "600")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")

    def make(model: str) -> Job:
        def job(path: str) -> float:
            scored = read_parquet(path).map_batches(
                scorer, fn_constructor_args=[model], batch_format=batch_format, batch_size=BATCH,
                compute=ActorPoolStrategy(size=1),
            )  # fmt: skip
            return float(sum(value(batch) for batch in scored.iter_batches(batch_format="pyarrow")))

        return job

    return make


def ray_tfport(model: str) -> Job:
    import pyarrow.compute as pc

    from tfport.ray import TableScorer

    return ray_job(TableScorer, "pyarrow", lambda batch: pc.sum(pc.list_flatten(batch[OUTPUT])).as_py())(
        model
    )


def ray_tensorflow(model: str) -> Job:
    import pyarrow.compute as pc

    class Predictor:
        def __init__(self, path: str) -> None:
            self.call = signature_of(path)

        def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
            return {OUTPUT: self.call(batch["rows"].tolist())}

    return ray_job(Predictor, "numpy", lambda batch: pc.sum(batch[OUTPUT]).as_py())(model)


JOBS: dict[tuple[str, str], Callable[[str], Job]] = {
    ("spark", "tfport"): spark_tfport, ("spark", "tensorflow"): spark_tensorflow,
    ("beam", "tfport"): beam_tfport, ("beam", "tensorflow"): beam_tensorflow,
    ("ray", "tfport"): ray_tfport, ("ray", "tensorflow"): ray_tensorflow,
}  # fmt: skip

if __name__ == "__main__":
    main()
