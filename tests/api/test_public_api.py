"""What programs rely on is still there: names, parameters, options, codes and JSON of earlier releases.

`docs/stability.md` promises it. `tests.api.record` wrote `0.1.0.json.xz` with the code of that version.
"""

import json
import lzma
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
from tests.api.documents import DOCUMENTS, documents
from tests.api.json_schema import SCHEMAS, breaks, misfits, published, schema_of
from tests.api.record import codes, functions, options

import tfport

ROOT = Path(__file__).parents[2]
RELEASES = sorted(Path(__file__).parent.glob("*.json.xz"))
STABILITY = (ROOT / "docs/stability.md").read_text("utf-8")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
OTHER_MODELS = {  # that the schemas were not made from
    "inspect": [["inspect", "tests/scan/files/flex_write.tflite"]],
    "check": [["check", "examples/attention", "--on", "tensorflow==1.4.1", "tensorflow-serving==2.8"]],
    "scan": [["scan", "examples/attention"]],
    "matrix": [["matrix", "tests/models/ragged"]],
    "lib": [["lib", "tests/libraries/throws/op.so", "--on", "tensorflow==2.21.0"]],
    "explain": [["explain", "NodeDef mentions attr 'x' not in Op<name=MatMul>"]],
    "op": [["ops", "FusedBatchNormV3"]],
    "fix": [["fix", "tests/models/ragged", "--for", "tensorflow==2.8.4", "-o", "{out}/fixed"]],
    "run": [["run", "tests/models/counter", "--signature", "get_counter"]],
    "export": [["export", "tests/models/half_plus_two", "-o", "{out}/exported.onnx"]],
    "version": [["--version"]],
}


@pytest.fixture(params=RELEASES, ids=lambda path: path.name.removesuffix(".json.xz"))
def earlier(request):
    return json.loads(lzma.decompress(request.param.read_bytes()))


def test_public_names_and_their_parameters_are_still_there(earlier):
    today = functions()
    for name, parameters in earlier["functions"].items():
        assert name in today, f"tfport.{name} is gone"
        for parameter, (kind, optional) in parameters.items():
            assert today[name].get(parameter) == [kind, optional], f"tfport.{name}({parameter}=…)"
        added = [today[name][parameter] for parameter in today[name] if parameter not in parameters]
        assert all(optional or kind.startswith("VAR") for kind, optional in added), f"tfport.{name}"


def test_options_are_still_there(earlier):
    today = options()
    for command, flags in earlier["options"].items():
        assert set(flags) <= set(today[command]), command


def test_a_finding_code_keeps_its_name(earlier):
    today = codes()
    assert {code: today.get(code) for code in earlier["codes"]} == earlier["codes"]


def test_json_documents_keep_their_fields(earlier):
    for name, old in earlier["schemas"].items():
        assert list(breaks(old, published(name), name)) == []


def test_what_would_break_programs_is_noticed():
    old = schema_of([{"a": 1, "b": [{"c": "x"}]}], frozenset(), "test")
    gone, wider = (
        schema_of([{"a": 1}], frozenset(), "test"),
        schema_of([{"a": None, "b": []}], frozenset(), "test"),
    )
    assert list(breaks(old, gone, "test")) == ["test.b is gone"]
    assert list(breaks(old, schema_of([{"a": "1", "b": []}], frozenset(), "t"), "test")) == [
        "test.a: ['integer'] became ['string']"
    ]
    assert list(breaks(wider, old, "test")) == []
    assert list(breaks(old, old, "test")) == []


@pytest.mark.parametrize("name", sorted(path.name.split(".")[0] for path in SCHEMAS.iterdir()))
def test_a_schema_has_an_id_with_its_version(name):
    document = published(name)
    jsonschema.Draft202012Validator.check_schema(document)
    assert document["$id"] == f"urn:tfport:{name}:{document['properties']['version']['const']}"
    assert name in DOCUMENTS
    assert f"schemas/{name}.schema.json" in STABILITY


@pytest.mark.parametrize("name", OTHER_MODELS)
def test_what_commands_print_fits_the_schemas(name, monkeypatch):
    monkeypatch.setitem(DOCUMENTS, name, OTHER_MODELS[name])
    (document,) = documents(name)
    assert misfits(document, name) == []


def test_the_version_stands_in_one_place():
    """pyproject.toml; what other tools read repeats it."""
    for name, pattern in [
        ("CITATION.cff", r"^version: (.*)$"),
        ("deploy/helm/tfport-serve/Chart.yaml", r"^version: (.*)$"),
        ("docs/ci.md", r"\bv(\d+\.\d+\.\d+)$"),
        ("README.md", r"\btfport (\d+\.\d+\.\d+)"),
        ("CHANGELOG.md", r"\A# Changes\n\n## (.*)$"),
    ]:
        found = re.findall(pattern, (ROOT / name).read_text("utf-8"), re.MULTILINE)
        assert set(found) == {VERSION}, name


def test_the_page_names_what_is_public():
    for name in tfport.__all__:
        assert f"`{name}`" in STABILITY, name
