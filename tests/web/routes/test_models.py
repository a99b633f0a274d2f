"""Models of the API: open, list, forget, complete, inspect."""

import json

import pytest
from tests.recorded_models import MODELS, path_of
from tests.web.ui_client import running

import tfport


def test_a_model_is_opened_listed_and_forgotten(ui):
    entry = ui.post("/models", {"path": path_of("keras_lstm")}).json
    assert entry["kind"] == "saved_model"
    assert (entry["name"], entry["opened"], entry["example"]) == ("keras_lstm", True, False)
    assert entry["bytes"] > 1000
    assert entry["id"] in [model["id"] for model in ui.get("/models").json["models"]]
    assert ui.delete(f"/models/{entry['id']}").status == 200
    assert entry["id"] not in [model["id"] for model in ui.get("/models").json["models"]]
    assert ui.get(f"/models/{entry['id']}/inspect").status == 404


def test_the_id_of_a_model_is_stable(ui):
    first = ui.open(path_of("loops"))
    ui.delete(f"/models/{first}")
    assert ui.open(path_of("loops").replace("/loops/", "/loops/../loops/")) == first


def test_several_models_are_listed_in_the_order_of_the_command_line():
    names = ["loops", "classifier", "frozen"]
    with running(models=tuple(path_of(name) for name in names)) as client:
        listed = [entry["path"] for entry in client.get("/models").json["models"]]
    assert listed == [path_of(name) for name in names]


def test_models_of_the_command_line_are_listed():
    with running(models=(path_of("conditions"),)) as client:
        (entry,) = client.get("/models").json["models"]
        assert not entry["opened"]
        assert client.get(f"/models/{entry['id']}/inspect").json["kind"] == "saved_model"
        assert client.post("/models", {"path": path_of("loops")}).status == 403


def test_the_model_that_was_named_or_opened_last_is_first(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    paths = [path_of("conditions"), path_of("loops")]
    for named in (paths[0], paths[1], paths[0]):
        with running(models=(named,), allow=(str(MODELS),), remember=True) as client:
            assert client.get("/models").json["models"][0]["path"] == named
            client.open(named)
    with running(models=(paths[0],), allow=(str(MODELS),), remember=True) as client:
        client.open(paths[1])
        assert [model["path"] for model in client.get("/models").json["models"]] == paths[::-1]


def test_inspect_answers_what_the_command_prints(ui):
    model = ui.open(path_of("strings"))
    expected = json.loads(json.dumps(tfport.inspect(path_of("strings")).to_json()))
    answer = ui.get(f"/models/{model}/inspect").json
    assert {key: answer[key] for key in expected} == expected


BAD = [  # body                               status  words of the sentence
    ({"path": "/etc"}, 403, "--allow"),
    ({"path": f"{MODELS}/../../../../etc/hostname"}, 403, "--allow"),
    ({"path": f"{MODELS}/no_such_model"}, 422, "no_such_model"),
    ({"path": str(MODELS / "expected.json.xz")}, 422, "expected.json.xz"),
    ({"path": ""}, 400, "expected a path"),
    ({"path": "a\0b"}, 400, "expected a path"),
    ({"path": 7}, 400, "`path`: expected a string"),
    ({}, 400, "expected `path`, `upload` or `model`"),
    ([], 400, "expected a JSON object"),
    (b"{", 400, "not JSON"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "status", "words"), BAD, ids=range(len(BAD)))
def test_a_model_that_cannot_be_opened_is_one_sentence(ui, body, status, words):
    answer = ui.post("/models", body)
    assert answer.status == status
    assert words in answer.error
    assert "\n" not in answer.error


def test_a_truncated_model_is_one_sentence_and_is_not_listed(tmp_path):
    data = (MODELS / "strings" / "saved_model.pb").read_bytes()
    (tmp_path / "saved_model.pb").write_bytes(data[: len(data) // 2])
    with running(allow=(str(tmp_path),)) as client:
        answer = client.post("/models", {"path": str(tmp_path)})
        assert answer.status == 422
        assert "saved_model.pb" in answer.error
        assert client.get("/models").json["models"] == []


def test_a_model_that_changes_on_disk_is_read_again(tmp_path):
    path = tmp_path / "graph.pb"
    x = tfport.load(path_of("frozen"))
    tfport.save(x, str(path))
    with running(allow=(str(tmp_path),)) as client:
        model = client.open(path)
        before = client.get(f"/models/{model}/inspect").json["graph"]["nodes"]
        x.graph.add("NoOp", name="added")
        path.unlink()
        tfport.save(x, str(path))
        assert client.get(f"/models/{model}/inspect").json["graph"]["nodes"] == before + 1


def test_paths_are_completed_below_what_is_allowed(ui):
    paths = ui.get(f"/paths?prefix={MODELS}/keras_l").json["paths"]
    assert [(entry["path"], entry["folder"]) for entry in paths] == [(f"{MODELS}/keras_lstm", True)]
    assert "SavedModel" in paths[0]["model"]
    assert ui.get("/paths?prefix=/etc/").json["paths"] == []
    assert str(MODELS) in [entry["path"] for entry in ui.get("/paths?prefix=").json["paths"]]
