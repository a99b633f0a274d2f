"""A bill of materials has every file and weight with its SHA-256, and what the model needs, by evidence."""

import hashlib
import json
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

import tfport
from tfport.inspection.materials import bill_of_materials
from tfport.reports.cyclonedx import cyclonedx

MODELS = Path("tests/models")


def bill_of(path):
    model = tfport.load(path)
    return bill_of_materials(model, tfport.inspect(model), tfport.scan(model))


@pytest.mark.parametrize(
    "name", ["keras_lstm", "half_plus_two", "table_from_file", "frozen/graph.pb", "strings", "tensor_lists"]
)
def test_the_document_is_valid_and_the_same_each_time(name):
    path = MODELS / name
    document = cyclonedx(bill_of(path if path.exists() else MODELS / name.partition("/")[0]))
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(document) is None
    assert document == cyclonedx(bill_of(path if path.exists() else MODELS / name.partition("/")[0]))


def test_every_file_has_its_digest():
    folder = MODELS / "table_from_file"
    digests = {file.name: file.sha256 for file in bill_of(folder).files}
    files = {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}
    assert digests == {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


def test_every_weight_has_its_digest():
    model = tfport.load(MODELS / "keras_lstm")
    weights = {weight.name: weight for weight in bill_of(MODELS / "keras_lstm").weights}
    numbers = [n for n in model.checkpoint.names() if model.checkpoint.read(n).dtype != object]
    assert sorted(weights) == numbers
    for name in numbers:
        array = model.checkpoint.read(name)
        assert weights[name].sha256 == hashlib.sha256(array.tobytes()).hexdigest()
        assert weights[name].shape == array.shape


def test_packages_are_needed_by_evidence():
    (package, *_) = bill_of(MODELS / "classifier").packages
    assert (package.name, package.least_version, package.evidence) == (
        "tensorflow",
        "2.1.0",
        "op ParseExampleV2",
    )


def test_findings_of_a_scan_are_part_of_the_document(tmp_path):
    from tests.scan.test_graph_risks import NAME, X, saved_model

    document = json.loads(cyclonedx(bill_of(saved_model(tmp_path, X + NAME + "y = ReadFile(f)"))))
    properties = document["metadata"]["component"]["properties"]
    (found,) = [p["value"] for p in properties if p["name"] == "tfport:finding"]
    assert found.startswith("error[TFP901]: op `ReadFile` reads `/etc/passwd`")
