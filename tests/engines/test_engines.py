"""Scoring in real engines: a local Ray, Spark, Beam's DirectRunner, a local MLflow (`make test-engines`)."""

import sys

import pandas as pd
import pyarrow as pa
import pytest
from tests.batch.models import PAIRS, PARSES, model_file
from tests.recorded_models import path_of

pytestmark = pytest.mark.filterwarnings("default")
TEXTS = [f"bad {i}" if i == 77 else str(i) for i in range(200)]
EXPECTED = [None if i == 77 else float(i) for i in range(200)]


def test_ray(tmp_path):
    ray = pytest.importorskip("ray")
    from ray.data import ActorPoolStrategy, from_arrow

    from tfport.ray import TableScorer

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        data = from_arrow(pa.table({"id": range(200), "x": TEXTS})).repartition(4)
        options = {"on_error": "collect", "cache": False}
        scored = data.map_batches(
            TableScorer,
            fn_constructor_args=[model_file(PARSES, tmp_path)],
            fn_constructor_kwargs=options,
            batch_format="pyarrow",
            compute=ActorPoolStrategy(size=2),
        )
        rows = sorted(scored.take_all(), key=lambda row: row["id"])
    finally:
        ray.shutdown()
    assert [row["y"] for row in rows] == EXPECTED
    assert "bad 77" in rows[77]["error"]


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


def test_beam(tmp_path):
    beam = pytest.importorskip("apache_beam")
    from apache_beam.ml.inference.base import RunInference
    from apache_beam.testing.util import assert_that, equal_to

    from tfport.beam import TfportModelHandler

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
    pairs = TfportModelHandler(model_file(PAIRS, tmp_path), cache=False)
    (result,) = pairs.run_inference([{"x": [1.0, 2.0]}], pairs.load_model())
    assert result.inference == {"y": [2, 4]}


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
    model = mlflow.pyfunc.load_model(logged.model_uri)
    assert len(model.predict(pd.DataFrame({"x": [[1.0, 2.0]]}))["y"][0]) == 3
