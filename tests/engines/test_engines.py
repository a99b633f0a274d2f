"""Scoring in real engines: a local Ray, Spark, Beam's DirectRunner, a local MLflow (`make test-engines`)."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.batch.models import GRIDS, PAIRS, PARSES, model_file
from tests.recorded_models import path_of

import tfport

pytestmark = pytest.mark.filterwarnings("default")
TEXTS = [f"bad {i}" if i == 77 else str(i) for i in range(200)]
EXPECTED = [None if i == 77 else float(i) for i in range(200)]


@pytest.fixture(scope="module")
def ray():
    """A local cluster with two processors, at `ray.address`."""
    ray = pytest.importorskip("ray")
    cluster = ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
    ray.address = cluster.address_info["address"]
    yield ray
    ray.shutdown()


def test_ray(ray, tmp_path):
    from ray.data import ActorPoolStrategy, from_arrow

    from tfport.ray import TableScorer

    data = from_arrow(pa.table({"id": range(200), "x": TEXTS})).repartition(4)
    scored = data.map_batches(
        TableScorer,
        fn_constructor_args=[model_file(PARSES, tmp_path)],
        fn_constructor_kwargs={"on_error": "collect", "cache": False},
        batch_format="pyarrow",
        num_cpus=0.5,  # a pool that takes all processors waits forever for the tasks that read
        compute=ActorPoolStrategy(size=2),
    )
    rows = sorted(scored.take_all(), key=lambda row: row["id"])
    assert [row["y"] for row in rows] == EXPECTED
    assert "bad 77" in rows[77]["error"]


def test_ray_replaces_a_killed_actor(ray, tmp_path):
    """Each actor kills its process at its first batch; Ray scores the rows again."""
    from ray.data import ActorPoolStrategy, from_arrow

    from tfport.ray import TableScorer

    once = tmp_path / "killed"

    class Killed(TableScorer):
        def __call__(self, table):
            if not once.exists():
                once.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__call__(table)

    data = from_arrow(pa.table({"id": range(200), "x": [str(i) for i in range(200)]})).repartition(8)
    scored = data.map_batches(
        Killed,
        fn_constructor_args=[model_file(PARSES, tmp_path)],
        fn_constructor_kwargs={"cache": False},
        batch_format="pyarrow",
        num_cpus=0.5,  # a pool that takes all processors waits forever for the tasks that read
        compute=ActorPoolStrategy(size=2),
    )
    rows = sorted(scored.take_all(), key=lambda row: row["id"])
    assert once.exists()
    assert [row["y"] for row in rows] == [float(i) for i in range(200)]


def test_an_audit_on_ray(ray, tmp_path):
    from tfport.audit.audit import audit_store
    from tfport.audit.database import AuditDatabase
    from tfport.audit.examine import AuditQuestions
    from tfport.audit.workers import WorkerLimits

    for number in range(40):
        (tmp_path / "store" / str(number)).mkdir(parents=True)
        model_file(PARSES, tmp_path / "store" / str(number))
    questions, limits = AuditQuestions(("tensorflow==2.15.1",)), WorkerLimits(2, 120, 4 << 30)
    database = AuditDatabase(str(tmp_path / "audit.sqlite"))
    audit_store([str(tmp_path / "store")], questions, database, limits, ray=ray.address)
    verdicts = database.connection.execute("SELECT verdict, COUNT(*) FROM results GROUP BY 1").fetchall()
    assert verdicts == [("runs", 40)]


@pytest.fixture
def spark(monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    sql = pytest.importorskip("pyspark.sql")
    session = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    yield session
    session.stop()


def test_spark(spark, tmp_path):
    from tfport.spark import predict

    df = spark.createDataFrame(pd.DataFrame({"id": range(200), "x": TEXTS})).repartition(4)
    for shared_path in (False, True):
        model = model_file(PARSES, tmp_path)
        scored = predict(df, model, on_error="collect", cache=False, shared_path=shared_path)
        rows = sorted(scored.collect(), key=lambda row: row["id"])
        assert [row["y"] for row in rows] == EXPECTED
        assert "bad 77" in rows[77]["error"]
    numbers = spark.createDataFrame(pd.DataFrame({"x": [[1.0, 2.0], [3.0, 4.0]]}))
    scored = predict(numbers, path_of("module"), cache=False)
    assert len(scored.collect()[0]["y"]) == 3


def test_spark_column(spark, tmp_path):
    from pyspark.sql.functions import array

    from tfport.spark import predict_udf

    frame = pd.DataFrame({"a": np.arange(100.0), "b": np.ones(100)})
    pairs = predict_udf(model_file(PAIRS, tmp_path), cache=False, rows=7)
    df = spark.createDataFrame(frame).repartition(3)
    rows = df.withColumn("y", pairs(array("a", "b"))).orderBy("a").collect()
    assert [row["y"] for row in rows] == [[2 * a, 2.0] for a in range(100)]
    lists = df.selectExpr("a", "array(a, b) AS x").withColumn("y", pairs("x")).orderBy("a")
    assert lists.collect()[7]["y"] == [14.0, 2.0]
    with pytest.raises(tfport.Error, match="`x` has strings; `predict` takes them"):
        predict_udf(model_file(PARSES, tmp_path), cache=False)
    with pytest.raises(tfport.Error, match="`predict` takes on_error"):
        predict_udf(model_file(PAIRS, tmp_path), on_error="null")


def test_spark_replaces_a_killed_worker(monkeypatch, tmp_path):
    """`local[2,4]`: a task may fail; what comes after the scoring of its rows kills the process, once."""
    from tfport.spark import predict

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    sql, once = pytest.importorskip("pyspark.sql"), tmp_path / "killed"

    def kill_once(batches):
        for batch in batches:
            if not once.exists():
                once.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    builder = sql.SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    session = builder.getOrCreate()
    try:
        frame = pd.DataFrame({"id": range(200), "x": [str(i) for i in range(200)]})
        scored = predict(
            session.createDataFrame(frame).repartition(4), model_file(PARSES, tmp_path), cache=False
        )
        rows = sorted(scored.mapInArrow(kill_once, scored.schema).collect(), key=lambda row: row["id"])
    finally:
        session.stop()
    assert once.exists()
    assert [row["y"] for row in rows] == [float(i) for i in range(200)]


def test_beam(tmp_path):
    beam = pytest.importorskip("apache_beam")
    from apache_beam.ml.inference.base import RunInference
    from apache_beam.testing.util import assert_that, equal_to

    from tfport.beam import SplitFailed, TfportModelHandler

    model = model_file(PARSES, tmp_path)
    rows = [{"id": i, "x": text} for i, text in enumerate(TEXTS)]
    handler = TfportModelHandler(model, on_error="collect", cache=False, max_batch_size=64)
    with beam.Pipeline() as pipeline:
        results = pipeline | beam.Create(rows) | RunInference(handler)
        pairs = results | beam.Map(lambda result: (result.example["id"], result.inference["y"]))
        assert_that(pairs, equal_to(list(enumerate(EXPECTED))))
    strict = TfportModelHandler(model, cache=False, min_batch_size=1, max_batch_size=1)
    with beam.Pipeline() as pipeline:
        good, failed = pipeline | beam.Create(rows) | RunInference(strict).with_exception_handling()
        assert_that(good | "n" >> beam.combiners.Count.Globally(), equal_to([199]), "good")
        assert_that(
            failed.failed_inferences | beam.Map(lambda failure: failure[0][0]["id"]), equal_to([77]), "failed"
        )
    with beam.Pipeline() as pipeline:
        good, failed = pipeline | beam.Create(rows) | RunInference(handler) | SplitFailed()
        assert_that(good | "n" >> beam.combiners.Count.Globally(), equal_to([199]), "good")
        texts = failed | beam.Map(lambda result: result.example["x"])
        assert_that(texts, equal_to(["bad 77"]), "failed")
    pairs = TfportModelHandler(model_file(PAIRS, tmp_path), cache=False)
    (result,) = pairs.run_inference([{"x": [1.0, 2.0]}], pairs.load_model())
    assert result.inference == {"y": [2, 4]}


def test_beam_rows_that_are_values_of_the_only_input(tmp_path):
    beam = pytest.importorskip("apache_beam")
    from apache_beam.ml.inference.base import RunInference
    from apache_beam.testing.util import assert_that, equal_to

    from tfport.beam import TfportModelHandler

    handler = TfportModelHandler(model_file(PARSES, tmp_path), on_error="null", cache=False)
    with beam.Pipeline() as pipeline:
        results = pipeline | beam.Create([text.encode() for text in TEXTS]) | RunInference(handler)
        pairs = results | beam.Map(lambda result: (result.example.decode(), result.inference["y"]))
        assert_that(pairs, equal_to(list(zip(TEXTS, EXPECTED, strict=True))))


def test_beam_rows_of_arrays(tmp_path):
    """Arrays of one shape and type, of several, and two axes; also as the values of the only input."""
    pytest.importorskip("apache_beam")
    from tfport.beam import TfportModelHandler

    handler = TfportModelHandler(model_file(PAIRS, tmp_path), cache=False)
    model = handler.load_model()
    for rows in (
        [np.float32([1, 2]), np.float32([3, 4])],
        [np.float32([1, 2]), np.float64([3, 4])],
        [np.float32([1, 2]), [3, 4]],
    ):
        for batch in (rows, [{"x": row} for row in rows]):
            results = list(handler.run_inference(batch, model))
            assert [result.inference["y"] for result in results] == [[2, 4], [6, 8]]
    grids = TfportModelHandler(model_file(GRIDS, tmp_path), cache=False)
    (result,) = grids.run_inference([np.float32([[1, 2], [3, 4]])], grids.load_model())
    assert result.inference["y"] == [[2, 4], [6, 8]]
    assert handler.get_num_bytes([{"x": np.zeros(3, np.float32), "name": "abc"}, b"12"]) == 17


def test_beam_updates_the_model_by_side_input(tmp_path):
    beam = pytest.importorskip("apache_beam")
    from apache_beam.ml.inference.base import ModelMetadata, RunInference
    from apache_beam.testing.util import assert_that, equal_to

    from tfport.beam import TfportModelHandler

    (tmp_path / "new").mkdir()
    new = model_file(PAIRS.replace("AddV2", "Mul"), tmp_path / "new")
    handler = TfportModelHandler(model_file(PAIRS, tmp_path), cache=False)
    with beam.Pipeline() as pipeline:
        newest = pipeline | "newest" >> beam.Create([ModelMetadata(new, "v2")])
        rows = pipeline | beam.Create([{"x": [float(i), 1.0]} for i in range(10)])
        results = rows | RunInference(handler, model_metadata_pcoll=newest)
        found = results | beam.Map(lambda result: (result.model_id, result.inference["y"]))
        assert_that(found, equal_to([(new, [float(i * i), 1.0]) for i in range(10)]))


def test_mlflow(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # mlflow-skinny has no database
    mlflow = pytest.importorskip("mlflow")
    from tfport.mlflow import load_pyfunc, log_model, save_model

    frame = pd.DataFrame({"id": range(200), "x": TEXTS})
    save_model(model_file(PARSES, tmp_path), tmp_path / "saved", on_error="collect", cache=False)
    for loaded in (load_pyfunc(tmp_path / "saved"), mlflow.pyfunc.load_model(str(tmp_path / "saved"))):
        scored = loaded.predict(frame)
        assert scored["y"].dropna().tolist() == [y for y in EXPECTED if y is not None]
        assert "bad 77" in scored["error"][77]
    mlflow.set_tracking_uri(f"file:{tmp_path}/runs")
    experiment = mlflow.create_experiment("e", artifact_location=str(tmp_path / "artifacts"))
    with mlflow.start_run(experiment_id=experiment):
        logged = log_model(path_of("module"), "module", cache=False)
    mlflow.register_model(logged.model_uri, "registered")
    for address in (logged.model_uri, "models:/registered/1"):
        model = mlflow.pyfunc.load_model(address)
        assert len(model.predict(pd.DataFrame({"x": [[1.0, 2.0]]}))["y"][0]) == 3


def test_mlflow_models_serve(tmp_path):
    """The server of `mlflow models serve`: JSON in MLflow's forms; a null text is null, not NaN."""
    pytest.importorskip("mlflow")
    from tfport.mlflow import save_model

    save_model(model_file(PARSES, tmp_path), tmp_path / "saved", on_error="collect", cache=False)
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", str(tmp_path / "saved")]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # MLflow runs `uvicorn`
    server = subprocess.Popen(
        [*command, "-p", str(port), "--env-manager", "local"],
        env={**os.environ, "PATH": path},
        start_new_session=True,
    )

    def ask(body):
        data, kind = json.dumps(body).encode(), {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/invocations", data, kind)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["predictions"]

    try:
        while server.poll() is None:
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/ping"):
                break
            time.sleep(0.2)
        table = {"columns": ["id", "x"], "data": [[0, "1.5"], [1, "bad 77"]]}
        good, bad = ask({"dataframe_split": table})
        assert good == {"id": 0, "y": 1.5, "error": None}
        assert "bad 77" in bad["error"]
        assert ask({"dataframe_records": [{"x": "3"}]})[0]["y"] == 3
        assert [row["y"] for row in ask({"inputs": {"x": ["4", "5"]}})] == [4, 5]
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def test_mlflow_spark_udf(spark, tmp_path):
    mlflow = pytest.importorskip("mlflow")
    from pyspark.sql.functions import struct

    from tfport.mlflow import save_model

    def udf(text, name, kind, **options):
        save_model(model_file(text, tmp_path), tmp_path / name, cache=False, **options)
        return mlflow.pyfunc.spark_udf(spark, str(tmp_path / name), result_type=kind, env_manager="local")(
            struct("x")
        )

    df = spark.createDataFrame(pd.DataFrame({"id": range(200), "x": TEXTS})).repartition(3)
    scored = df.withColumn("r", udf(PARSES, "texts", "y float, error string", on_error="collect"))
    rows = [row["r"] for row in sorted(scored.collect())]  # in Spark, sorting would score twice
    assert [row["y"] for row in rows[:77]] == EXPECTED[:77]
    assert "bad 77" in rows[77]["error"]
    assert rows[78]["error"] in (None, "None")  # as MLflow converts a column
    numbers = df.selectExpr("id", "array(float(id), float(1)) AS x")
    pairs = numbers.withColumn("r", udf(PAIRS, "pairs", "y array<float>")).collect()
    assert [row["r"]["y"] for row in sorted(pairs)] == [[2.0 * i, 2.0] for i in range(200)]


def test_ray_actors_compute_in_as_many_threads_as_ray_gives_them(monkeypatch, tmp_path):
    """Ray sets the variable in its processes."""
    pytest.importorskip("ray")
    from tfport.ray import TableScorer

    for variable, threads in (("3", 3), ("", 1)):
        monkeypatch.setenv("OMP_NUM_THREADS", variable)
        scorer = TableScorer(model_file(PARSES, tmp_path), cache=False)
        assert scorer.scorer.options.threads == threads
        assert scorer(pa.table({"x": ["1", "2"]}))["y"].to_pylist() == [1, 2]
