"""Scorers that ask a server, which runs the model for all processes of a machine."""

import pyarrow as pa
import pytest
from tests.batch.models import PARSES
from tests.serve.models.exports import export, saved_model
from tests.serve.process import FREE, Command

import tfport
from tfport.batch import remote_session
from tfport.batch.scorer import BatchScorer
from tfport.batch.scoring_options import scoring_options


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The base path of a model, and its address in a server."""
    base = tmp_path_factory.mktemp("models") / "m"
    export(base, 1, saved_model(PARSES, {"serving_default": "y:0"}))
    command = Command(f"--model_base_path={base}", "--model_name=m", *FREE).ready()
    yield base / "1", f"127.0.0.1:{command.grpc}/m"
    command.end()


def test_a_server_scores_and_names_the_row_that_fails(served):
    model, address = served
    score = BatchScorer(str(model), scoring_options(server=address, on_error="collect"))
    texts = ["bad" if i == 77 else str(i) for i in range(200)]
    result = score(pa.record_batch({"x": texts})).to_pydict()
    assert result["y"] == [None if i == 77 else float(i) for i in range(200)]
    assert "cannot parse `bad`" in result["error"][77]


def test_a_server_without_the_model_is_an_error(served, monkeypatch):
    model, address = served
    monkeypatch.setattr(remote_session, "PATIENCE", 0.2)
    rows = pa.record_batch({"x": ["1"]})
    for wrong, why in (
        (f"{address}_other", "not found: Servable not found"),
        ("127.0.0.1:9/m", "127.0.0.1:9/m: deadline exceeded"),
    ):
        with pytest.raises(tfport.Error, match=why):
            BatchScorer(str(model), scoring_options(server=wrong))(rows)
    with pytest.raises(tfport.Error, match="expected HOST:PORT/MODEL"):
        BatchScorer(str(model), scoring_options(server="localhost:8500"))
