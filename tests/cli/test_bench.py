"""`tfport bench`: a row for each contender and batch size."""

import json

from tests.recorded_models import path_of

from tfport.cli.main import main

MODULE = path_of("module")


def test_bench_measures_each_batch(capsys):
    assert main(["bench", MODULE, "--batch", "1,2", "--seconds", "0.03", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {(row["contender"], row["batch"]) for row in document["rows"]} >= {("tfport", 1), ("tfport", 2)}
    assert all(row["latency_ms"] > 0 and row["first_answer_s"] > 0 for row in document["rows"])


def test_bench_rejects_an_invalid_batch(capsys):
    assert main(["bench", MODULE, "--batch", "0"]) == 2
    assert capsys.readouterr().err == "tfport: --batch 0: expected positive sizes, such as 1,8\n"
