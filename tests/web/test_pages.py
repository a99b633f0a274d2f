"""Static pages of check, matrix and inspect: the JSON of the command, the graphs, no markup from names."""

import json
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.recorded_models import PROGRAMS, graph, load, path_of, shared
from tests.static_page.embedded import EVIL, assert_stands_alone

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.matrix.matrix import matrix_of
from tfport.web import pages
from tfport.web.pages import check_page, inspect_page, matrix_page


def plain(document):
    return json.loads(json.dumps(document))


def hostile():
    """A model whose names are scripts."""
    model = load("frozen")
    model.graph = graph("x = Placeholder() {dtype=float32, shape=(2,)}")
    model.signatures.clear()
    model.graph.add("BatchMatMulV3", [model.graph.nodes["x"].output(0)] * 2, name=EVIL)
    model.graph.add(EVIL, [], name="custom")
    model.where = EVIL
    return model


@pytest.mark.parametrize("name", PROGRAMS[::8])
def test_a_matrix_page_has_the_matrix_and_a_finding_for_each_cause(name):
    matrix = matrix_of(shared(name), since="1.12", until="2.4")
    html = matrix_page(matrix)
    documents = assert_stands_alone(html).documents
    details = documents["matrix"].pop("details")
    assert documents["matrix"] == plain(matrix.to_json())
    rows = [row for strip in documents["matrix"]["strips"] for row in strip["releases"]]
    causes = {(cause["code"], cause["op"]) for row in rows for cause in row["causes"]}
    assert causes <= {(d["code"], d["op"]) for d in details}
    assert documents["view"] == "verdicts"
    assert len(html) < 1_500_000


def test_a_check_page_has_the_report_with_all_nodes_and_the_graphs():
    model = load("keras_lstm")
    report = tfport.check(model, "tensorflow==1.13.2")
    documents = assert_stands_alone(check_page(report)).documents
    assert documents["check"]["verdict"] == "fails"
    assert {graph["id"] for graph in documents["graphs"]} == set(documents["graph"])
    for finding in documents["check"]["results"][0]["findings"]:
        for node in finding["all_nodes"]:
            assert node["node"] in documents["graph"][node["graph"]]["names"]


def test_an_inspect_page_has_the_inspection_and_the_graphs():
    model = load("strings")
    report = tfport.inspect(model)
    documents = assert_stands_alone(inspect_page(report, model)).documents
    assert documents["inspect"] == plain(report.to_json())
    assert documents["model"]["kind"] == "saved_model"
    assert "main" in documents["graph"]


def test_large_graphs_are_left_out(monkeypatch):
    monkeypatch.setattr(pages, "MOST_NODES", 3)
    model = load("strings")
    documents = assert_stands_alone(inspect_page(tfport.inspect(model), model)).documents
    assert "graph" not in documents


def test_names_of_a_model_stay_text():
    model = hostile()
    report = tfport.check(model, "tensorflow==2.3.4")
    matrix = matrix_of(model, since="1.12", until="2.6")
    for html in (check_page(report), inspect_page(tfport.inspect(model), model), matrix_page(matrix)):
        page = assert_stands_alone(html)
        assert page.documents["model"]["path"] == EVIL
    assert EVIL in json.dumps(page.documents, ensure_ascii=False).replace('\\"', '"')


def test_many_causes_stay_within_bounds():
    old, new = (resolve_targets(f"tensorflow=={release}")[0].registry for release in ("1.0.0", "2.21.0"))
    model = load("frozen")
    model.graph = graph("x = Placeholder() {dtype=float32, shape=(2,)}")
    model.signatures.clear()
    for op in [name for name in new if name not in old][:500]:
        model.graph.add(op, [], name=f"a/long/scope/of/names/{op}")
    assert len(matrix_page(matrix_of(model, until="1.3"))) < 3_000_000


def test_a_page_says_what_made_it_and_of_which_model():
    path = path_of("frozen")
    documents = assert_stands_alone(matrix_page(tfport.matrix(path, since="2.20"))).documents
    assert documents["made"]["tfport"] == version("tfport")
    assert documents["made"]["date"].endswith("UTC")
    assert documents["model"]["sha256"] == sha256(Path(path).read_bytes()).hexdigest()


def test_a_notebook_shows_models_and_sessions_as_the_page_of_inspect():
    html = tfport.load(path_of("frozen"))._repr_html_()
    assert html.startswith('<iframe src="data:text/html;base64,')
    assert tfport.Session(path_of("frozen"))._repr_html_()[:1000] == html[:1000]
