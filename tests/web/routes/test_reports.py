"""Reports of the API: matrix, check, targets, ops, explain."""

import json

import pytest
from tests.recorded_models import path_of

import tfport


def plain(document):
    return json.loads(json.dumps(document))


def test_check_answers_what_the_command_prints_with_all_nodes(ui):
    path = path_of("keras_lstm")
    model = ui.open(path)
    answer = ui.post(f"/models/{model}/check", {"targets": ["tensorflow==1.13.2", "tensorflow==2.21.0"]}).json
    expected = plain(tfport.check(path, ["tensorflow==1.13.2", "tensorflow==2.21.0"]).to_json())
    graphs = {
        graph["name"] or None: graph["id"] for graph in ui.get(f"/models/{model}/graphs").json["graphs"]
    }
    findings = [finding for result in answer["results"] for finding in result["findings"]]
    assert findings
    for finding in findings:
        nodes = finding.pop("all_nodes")
        assert len(nodes) == finding["count"]
        for first, node in zip(finding["nodes"], nodes, strict=False):
            assert (graphs[first["function"]], first["node"]) == (node["graph"], node["node"])
        for node in nodes:
            assert ui.node(model, node["graph"], node["node"])["op"]
    assert answer == expected


def test_check_takes_a_device_and_signatures(ui):
    model = ui.open(path_of("keras_lstm"))
    body = {"targets": ["tensorflow==2.21.0"], "device": "gpu", "signature": ["serve"]}
    answer = ui.post(f"/models/{model}/check", body).json
    assert (answer["results"][0]["device"], answer["signatures"]) == ("gpu", ["serve"])


def test_scan_answers_what_the_command_prints_with_all_nodes(ui):
    path = path_of("table_from_file")
    answer = ui.get(f"/models/{ui.open(path)}/scan").json
    for risk in answer["risks"]:
        assert len(risk.pop("all_nodes")) == risk["count"]
    assert answer == plain(tfport.scan(path).to_json())


BAD = [  # body                                                              words
    ({}, "1 to 40 targets"),
    ({"targets": []}, "1 to 40 targets"),
    ({"targets": ["tensorflow"] * 41}, "1 to 40 targets"),
    ({"targets": "tensorflow"}, "list of strings"),
    ({"targets": [1]}, "list of strings"),
    ({"targets": ["x" * 501]}, "501 characters"),
    ({"targets": ["tensorflo==2.8"]}, "tensorflow"),
    ({"targets": ["tensorflow==2.8"], "device": "tpu"}, "cpu or gpu"),
    ({"targets": ["tensorflow==2.8.4"], "signature": ["nobody"]}, "nobody"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "words"), BAD, ids=range(len(BAD)))
def test_a_bad_check_is_one_sentence(ui, body, words):
    answer = ui.post(f"/models/{ui.open(path_of('conditions'))}/check", body)
    assert answer.status == 400
    assert words in answer.error


@pytest.mark.parametrize("target", ["/etc/hostname", "x.h@/etc", "tensorflow /etc/passwd", "~", "/"])
def test_a_target_cannot_name_a_file_elsewhere(ui, target):
    answer = ui.post(f"/models/{ui.open(path_of('conditions'))}/check", {"targets": [target]})
    assert answer.status == 403
    assert "--allow" in answer.error


def test_matrix_answers_what_the_command_prints_with_a_finding_for_each_cause(ui):
    path = path_of("keras_sequential")
    answer = ui.get(f"/models/{ui.open(path)}/matrix").json
    details = answer.pop("details")
    assert answer == plain(tfport.matrix(path).to_json())
    for strip in answer["strips"]:
        causes = {(c["code"], c["op"], c["attr"]) for row in strip["releases"] for c in row["causes"]}
        setting = strip["package"], strip["device"], strip["loader"], strip["signatures"]
        own = [d for d in details if (d["package"], d["device"], d["loader"], d["signatures"]) == setting]
        assert {(d["code"], d["op"], d["attr"]) for d in own} >= causes
        for detail in own:
            assert detail["finding"]["code"] == detail["code"]
            assert detail["release"] == detail["last"]


def test_targets_are_completed_the_newest_first(ui):
    def complete(prefix):
        return [entry["requirement"] for entry in ui.get(f"/targets?prefix={prefix}").json["targets"]]

    everything = complete("")
    packages = {requirement.partition("==")[0] for requirement in everything}
    assert {"tensorflow", "tensorflow-serving", "keras", "tflite-runtime", "tfport"} <= packages
    assert len(everything) == 50
    assert complete("tensorflow==1.15") == ["tensorflow==1.15.5", "tensorflow==1.15.4", "tensorflow==1.15.3",
                                            "tensorflow==1.15.2", "tensorflow==1.15.0"]  # fmt: skip
    assert complete("tensorflow-serving==2.8")[0] == "tensorflow-serving==2.8.4"
    assert complete("nothing") == []


def test_every_completed_target_is_one(ui):
    from tfport.atlas.resolve.targets import resolve_targets

    for entry in ui.get("/targets?prefix=").json["targets"]:
        if entry["requirement"] != "tfport":
            (target,) = resolve_targets(entry["requirement"])
            assert (target.requirement, target.kind) == (entry["requirement"], entry["kind"])


def test_the_history_of_an_op(ui):
    assert ui.get("/ops/BatchMatMulV2").json["ops"][0]["since"] == "1.14.0"
    assert ui.get("/ops/CONV_2D").json["lite"]
    assert "MatMul" in ui.get("/ops/MatMu").json["unknown"]["MatMu"]


def test_explain_a_message_and_a_code(ui):
    text = "Op type not registered 'BatchMatMulV2' in binary running on host"
    answer = ui.post("/explain", {"text": text}).json
    assert answer == plain(tfport.explain(text).to_json())
    assert ui.post("/explain", {"text": "TFP101"}).json["codes"][0]["name"] == "unregistered-op"
    assert ui.post("/explain", {"text": "/etc/hostname"}).json["explanations"] == []
    assert ui.post("/explain", {}).status == 400
