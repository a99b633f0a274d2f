"""The recorded results of rewritten models in old releases, and their cases."""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest

from tfport.atlas.resolve.targets import resolve_targets
from tfport.graph.dtypes import DType
from tfport.graph.model import TensorSpec
from tfport.graph.shapes import Shape

sys.path.append(str(Path(__file__).parents[3] / "tools/truth/rewrites"))

import rewrite_records as records
from cases import MAKERS, makers, read_cases, real_models, where
from inputs import one_input

ROOT = Path(__file__).parents[3]
CASES = read_cases()
OUTPUT = {"dtype": "float32", "elements": 4, "absolute": 2e-7, "relative": 1e-7, "ulps": 3, "spread": 0.5}


def entry(**changed):
    return {
        "written_by": "2.21.0",
        "original": "",
        "outcome": "same",
        "says": "",
        "runs": 10,
        "failed": 0,
        "varies": 0.0,
        "rules": [{"name": "as_v2", "promise": "exact", "times": 3}],
        "outputs": {"y": OUTPUT},
        "reference": "tensorflow 2.21.0",
        "binary": "tensorflow 1.4.1",
        "wheel": "tensorflow-1.4.1.whl",
        "sha256": "ab12",
        "emulated": False,
        "tfport": "0.1.0",
        **changed,
    }


def test_a_new_entry_takes_the_place_of_its_own_only(tmp_path):
    file, cases = tmp_path / "docs/fix.json.xz", {"a": ["x", "y"], "b": ["x"]}
    records.write(file, {"a": {"x": entry(), "y": entry()}, "b": {"x": entry()}}, cases)
    records.write(file, {"a": {"y": entry(outcome="differs")}}, cases)
    outcomes = {case: {t: e["outcome"] for t, e in by.items()} for case, by in records.read(file).items()}
    assert outcomes == {"a": {"x": "same", "y": "differs"}, "b": {"x": "same"}}


def test_what_is_no_case_any_more_goes(tmp_path):
    file = tmp_path / "fix.json.xz"
    records.write(
        file, {"a": {"x": entry(), "y": entry()}, "b": {"x": entry()}}, {"a": ["x", "y"], "b": ["x"]}
    )
    assert list(records.write(file, {}, {"a": ["y"]})) == ["a"]
    assert list(records.read(file)["a"]) == ["y"]


def test_the_page_has_a_row_for_each_entry_and_every_wheel_once():
    refused = entry(outcome="refused there", says="Op\nnot | there", outputs={}, original="no\nsuch op")
    page = records.page({"a": {"tensorflow==1.4.1": entry(varies=2e-7), "tensorflow==1.12.3": refused}})
    numbers = "10 | 2.0e-07 | 1.0e-07 | 3 | 5.0e-01 | 2.0e-07"
    assert f"| a | 2.21.0 | 1.4.1 | runs | same | {numbers} | as_v2 (exact, 3 times) |" in page
    assert "| a | 2.21.0 | 1.12.3 | no such op | refused there: Op not \\| there | 10 |  |  |  |  |" in page
    assert page.count("`ab12`") == 1
    assert "By tfport 0.1.0." in page


def test_the_page_starts_with_a_summary_and_the_pairs_that_are_not_right():
    crashed = entry(outcome="crashed", says="4 of 10: ends the process: SIGSEGV. ", failed=4)
    cannot = entry(outcome="not rewritten", says="no rule applies to `y` (Frobnicate)", runs=0)
    page = records.page({
        "a": {"tensorflow==1.12.3": entry(), "tensorflow==1.4.1": crashed},
        "b": {"tensorflow==1.4.1": cannot},
    })  # fmt: skip
    start = page.partition("## Pairs")[0]
    assert "2 models, 3 pairs, 20 runs: 1 right, 1 refused with a reason, " in start
    assert "| 1.4.1 | 2 | 0 | 1 | 1 |\n| 1.12.3 | 1 | 1 | 0 | 0 |" in start
    assert "| a | 1.4.1 | crashed: 4 of 10: ends the process: SIGSEGV. |" in start
    assert "| b | 1.4.1 | refused with a reason: no rule applies to `y` (Frobnicate) |" in start


def test_the_page_says_how_often_and_where_pairs_were_run():
    once, emulated = entry(runs=1), entry(emulated=True)
    page = records.page({"a": {"tensorflow==1.12.3": entry(), "tensorflow==1.4.1": emulated, "1.15.5": once}})
    said = "2 pairs were run 10 times, 1 pairs were run once. Of these, 1 ran in an x86-64 emulator."
    assert said in page
    assert "| a | 2.21.0 | 1.4.1 | runs | same | 10 (emulated) |" in page


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (0, "0"), (3, "3"), (0.25, "2.5e-01"), (1e9, "1000000000"), (float("inf"), "inf")],
)
def test_numbers_are_short(value, text):
    assert records.number(value) == text


# The cases


def test_every_case_has_a_name_of_its_own_and_one_source():
    assert len({case.name for case in CASES}) == len(CASES)
    assert all([bool(c.maker), bool(c.package), bool(c.path)].count(True) == 1 for c in CASES)


def test_every_maker_is_there():
    nodes = [node for file in MAKERS for node in ast.parse(file.read_text()).body]
    made = [node.name for node in nodes if isinstance(node, ast.FunctionDef)]
    assert {name for c in CASES for name in (c.maker, c.twin) if name} <= makers().keys() <= set(made)
    assert len(set(made)) == len(made)


def test_every_shipped_model_can_be_fetched():
    there = {(p.name, p.version, path) for p in real_models.packages() for _, path in p.models}
    assert {(c.package, c.version, c.model) for c in CASES if c.package} <= there


@pytest.mark.parametrize("target", sorted({target for case in CASES for target in case.targets}))
def test_every_target_is_a_recorded_build(target, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert len(resolve_targets(where(target).target)) == 1


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("1.4.1", ("tensorflow==1.4.1", "tensorflow", "1.4.1", "")),
        ("tensorflow-cpu==2.3.4", ("tensorflow-cpu==2.3.4", "tensorflow-cpu", "2.3.4", "")),
        ("a/b.h@tensorflow==1.4.1", ("a/b.h@tensorflow==1.4.1", "tensorflow", "1.4.1", "a/b.h")),
    ],
)
def test_a_target_names_a_binary(target, parts):
    binary = where(target)
    assert (binary.target, binary.package, binary.release, binary.header) == parts


# Inputs


def spec(dtype, *dims):
    return TensorSpec(("x:0",), DType.parse(dtype), Shape(dims))


@pytest.mark.parametrize(
    ("dtype", "dims", "options", "shape", "low", "high"),
    [
        ("float32", (None, 3), {}, (2, 3), 0, 1),
        ("float32", (None, 6), {"padded": True}, (2, 6), 0, 1),
        ("float32", (None, 3), {"low": -5, "high": -4}, (2, 3), -5, -4),
        ("int32", (None,), {"high": 500}, (2,), 0, 499),
        ("uint8", (None, None), {"shape": [-1, 7], "high": 256}, (2, 7), 0, 255),
        ("float32", (4, None), {"shape": [4, -1]}, (4, 2), 0, 1),
        ("bfloat16", (None, 8, 9, 3), {"patch": 4, "high": 255}, (2, 8, 9, 3), 0, 255),
        ("float32", (None, 9, 4), {"one_hot": True}, (2, 9, 4), 0, 1),
        ("bool", (), {"value": False}, (), 0, 0),
    ],
)
def test_inputs_have_the_configured_shape_and_range(dtype, dims, options, shape, low, high):
    array = one_input("x", spec(dtype, *dims), options, 2)
    assert (array.shape, array.dtype) == (shape, DType.parse(dtype).numpy)
    assert low <= float(array.min()) <= float(array.max()) <= high
    assert np.array_equal(array, one_input("x", spec(dtype, *dims), options, 2))


def test_words_are_drawn_from_the_configured_ones():
    array = one_input("x", spec("string", None, 50), {"words": ["a"], "numbered": "w{2}"}, 2)
    assert set(array.flat) == {b"a", b"w0", b"w1"}


def test_bytes_are_drawn_from_base64():
    array = one_input("x", spec("string", None, 50), {"base64": ["AAE=", "/w=="]}, 1)
    assert set(array.flat) == {b"\0\1", b"\xff"}
    assert one_input("x", spec("string"), {"base64": ["/w=="]}, 1) == np.array(b"\xff", object)


def test_an_open_axis_needs_a_size():
    with pytest.raises(LookupError, match=r"input x has shape \(\?, \?\): the case must tell its `shape`"):
        one_input("x", spec("float32", None, None), {}, 2)


PADDED = [[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0], [0] * 6, [0, 0, 0, 0, 1, 1], [1, 0, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, PADDED),
        ({"low": 1}, [[1] * 6] * 5),
        ({"low": 1, "padded": True}, PADDED),
        ({"padded": False}, [[1] * 6] * 5),
    ],
)
def test_ids_are_padded_at_both_ends_and_one_row_is_padding_only(options, expected):
    ids = one_input("x", spec("int32", None, 6), {"high": 1000, **options}, 5)
    assert (ids > 0).astype(int).tolist() == expected
