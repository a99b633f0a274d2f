"""Jobs of the API: run, fix, profile; cancel, download, limits."""

import base64
import io
import time
import zipfile

import numpy as np
import pytest
from tests.recorded_models import MODELS, graph, path_of
from tests.web.ui_client import UiClient, running

import tfport
from tfport.web.jobs import read_step

EXAMPLES = MODELS.parents[1] / "examples"
IDENTITY = """x = Placeholder() {dtype=DTYPE, shape=SHAPE}
y = Identity(x) {T=DTYPE}"""


def write_graph(path, text):
    """Write a GraphDef of a graph in our notation."""
    template = tfport.load(path_of("frozen"))
    template.graph = graph(text)
    tfport.save(template, str(path))


def finished(ui: UiClient, answer):
    """Wait for a job."""
    assert answer.status == 202, answer.body
    job = answer.json
    until = time.monotonic() + 100
    while job["state"] == "running" and time.monotonic() < until:
        time.sleep(0.05)
        job = ui.get(f"/jobs/{job['id']}").json
    return job


def result(ui: UiClient, answer):
    job = finished(ui, answer)
    assert (job["state"], job["error"]) == ("done", None)
    return job["result"]


def test_run_a_signature(ui):
    model = ui.open(path_of("half_plus_two_tf2"))
    body = {"signature": "serving_default", "inputs": {"x": [4.0]}, "repeat": 3}
    answer = result(ui, ui.post(f"/models/{model}/run", body))
    (output,) = answer["outputs"].values()
    assert output["value"] == [4.0]
    assert len(answer["all_seconds"]) == 3
    assert answer["seconds"] == answer["all_seconds"][0]


def test_run_takes_numpy_files_pictures_and_strings(tmp_path):
    from PIL import Image

    picture = io.BytesIO()
    Image.new("RGB", (4, 6), (10, 20, 30)).save(picture, "PNG")
    image = {"image": base64.b64encode(picture.getvalue()).decode()}
    array = io.BytesIO()
    np.save(array, np.float32([[1, 2], [3, 4]]))
    cases = [
        ("float32", "(?, 2)", {"npy": base64.b64encode(array.getvalue()).decode()}, [[1, 2], [3, 4]]),
        ("float32", "(?, 2, 3, 3)", image, [[[[10, 20, 30]] * 3] * 2]),
        ("uint8", "(?, 1, 1, 1)", image, [[[[18]]]]),
        ("string", "(?,)", {"b64": base64.b64encode(b"ab").decode()}, ["ab"]),
        ("string", "(?,)", image, None),
        ("int64", "(?,)", [1, 2], [1, 2]),
    ]
    with running(allow=(str(tmp_path),), most_jobs=len(cases)) as ui:
        answers = []
        for number, (dtype, shape, value, _) in enumerate(cases):
            write_graph(tmp_path / f"{number}.pb", IDENTITY.replace("DTYPE", dtype).replace("SHAPE", shape))
            model = ui.open(tmp_path / f"{number}.pb")
            answers.append(ui.post(f"/models/{model}/run", {"inputs": {"x": value}}))
        for answer, (_, _, value, expected) in zip(answers, cases, strict=True):
            (output,) = result(ui, answer)["outputs"].values()
            if expected is None:
                expected = [{"b64": value["image"]}]
            assert output["value"] == expected


BAD = [  # path, body                                                                 words
    ("run", {"inputs": {"nobody": 1}}, "`nobody`: unknown input"),
    ("run", {"inputs": []}, "`inputs`: expected an object"),
    ("run", {"inputs": {"x": {"npy": "!"}}}, "`x`: expected base 64"),
    ("run", {"inputs": {"x": {"image": "AAAA"}}}, "`x`"),
    ("run", {"signature": "nobody", "inputs": {}}, "nobody"),
    ("run", {"repeat": 0}, "1 to 50"),
    ("profile", {"batch": 0}, "1 to 4096"),
    ("profile", {"batch": True}, "expected an integer"),
    ("profile", {"signature": "nobody"}, "nobody"),
    ("fix", {}, "`target`: expected a string"),
    ("fix", {"target": "tensorflow==2.8.4", "prove": 1}, "`prove`: expected true or false"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "body", "words"), BAD, ids=range(len(BAD)))
def test_a_bad_job_is_refused_before_it_starts(ui, kind, body, words):
    answer = ui.post(f"/models/{ui.open(path_of('half_plus_two_tf2'))}/{kind}", body)
    assert answer.status == 400
    assert words in answer.error


def test_a_target_of_fix_cannot_name_a_file_elsewhere(ui):
    answer = ui.post(f"/models/{ui.open(path_of('frozen'))}/fix", {"target": "/etc/hostname"})
    assert answer.status == 403


def test_fix_a_model_see_its_changes_and_download_it():
    with running(models=(str(EXAMPLES / "attention"),)) as ui:
        (entry,) = ui.get("/models").json["models"]
        job = finished(ui, ui.post(f"/models/{entry['id']}/fix", {"target": "tensorflow==1.13.2"}))
        fixed = job["result"]
        assert fixed["result"]["verdict"] == "fixed"
        assert fixed["certificate"] == fixed["result"]["certificate"]
        assert "BatchMatMulV2" in {change["op"] for change in fixed["changes"]}
        for change in fixed["changes"]:
            assert ui.node(entry["id"], change["graph"], change["node"])["op"]
        new = fixed["rewritten"]["id"]
        assert "BatchMatMulV2" not in ui.get(f"/models/{new}/inspect").json["ops"]["total"]
        assert new in [model["id"] for model in ui.get("/models").json["models"]]
        archive = ui.get(f"/jobs/{job['id']}/download")
        assert archive.headers["Content-Type"] == "application/zip"
        names = zipfile.ZipFile(io.BytesIO(archive.body)).namelist()
        assert {name.partition("/")[2] for name in names} >= {"saved_model.pb"}
        ends = {name.rpartition(".certificate.")[2] for name in names if ".certificate." in name}
        assert ends == {"json", "html"}


def test_a_rewrite_that_is_not_possible_says_what_remains(tmp_path):
    write_graph(tmp_path / "custom.pb", "x = Placeholder() {dtype=float32}\ny = Acme>Tokenize(x)")
    with running(allow=(str(tmp_path),)) as ui:
        model = ui.open(tmp_path / "custom.pb")
        fixed = result(ui, ui.post(f"/models/{model}/fix", {"target": "tensorflow==1.15.5"}))
    assert fixed["result"]["verdict"] == "remains"
    assert fixed["result"]["remaining"]
    assert (fixed["certificate"], fixed["rewritten"], fixed["changes"]) == (None, None, [])


def test_profile_says_where_each_node_runs(ui):
    model = ui.open(path_of("keras_lstm"))
    profile = result(ui, ui.post(f"/models/{model}/profile", {"batch": 2}))
    assert (profile["batch"], profile["latency_ms"] > 0) == (2, True)
    wheres = {node["where"] for node in profile["nodes"]}
    assert wheres <= {*range(len(profile["islands"])), "host", "folded"}
    assert 0 in wheres
    for node in profile["nodes"]:
        assert ui.node(model, node["graph"], node["node"])["op"] == node["op"]
    assert sum(node["ms"] for node in profile["nodes"]) > 0


def test_a_job_that_fails_has_one_sentence(ui):
    model = ui.open(path_of("half_plus_two_tf2"))
    job = finished(ui, ui.post(f"/models/{model}/run", {"inputs": {"x": ["no number"]}}))
    assert job["state"] == "failed"
    assert "must be float32" in job["error"]
    assert "Traceback" not in job["error"]
    assert ui.get(f"/jobs/{job['id']}/download").status == 409


def test_a_job_is_canceled_and_too_many_are_refused():
    with running(models=(path_of("keras_lstm"),), most_jobs=1) as ui:
        (entry,) = ui.get("/models").json["models"]
        job = ui.post(f"/models/{entry['id']}/profile", {}).json
        refused = ui.post(f"/models/{entry['id']}/profile", {})
        assert (refused.status, "cancel" in refused.error) == (429, True)
        canceled = ui.delete(f"/jobs/{job['id']}").json
        assert (canceled["state"], canceled["result"]) == ("canceled", None)
        assert ui.get(f"/jobs/{job['id']}").json["state"] == "canceled"
        assert ui.post(f"/models/{entry['id']}/profile", {}).status == 202


@pytest.mark.parametrize("path", ["/jobs/1", "/jobs/1/download"])
def test_an_unknown_job_is_answered_with_404(ui, path):
    assert ui.get(path).status == 404
    assert ui.delete("/jobs/1").status == 404


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ('{"progress": "run 2 of 4", "fraction": 0.25}', ("run 2 of 4", 0.25)),
        ('{"progress": "rewriting", "fraction": null}', ("rewriting", None)),
        ('{"progress": "rewriting", "fraction": 7}', ("rewriting", None)),
        ('{"progress": 1}', None),
        ("{broken", None),
        ("tfport: no such file", None),
    ],
)
def test_what_a_command_tells_is_read(line, step):
    assert read_step(line) == step
