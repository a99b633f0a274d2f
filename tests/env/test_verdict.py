"""The verdict on two environments, its exit code, and what keeps it from being an all-clear."""

import json
from pathlib import Path

import pytest
from tests.recorded_models import graph, path_of

import tfport
from tfport.cli.main import main
from tfport.env.compare import compare
from tfport.errors import Error
from tfport.graph.build import graph_to_def

ATTENTION = str(Path(__file__).parents[2] / "examples/attention")
LIBRARIES = Path(__file__).parents[1] / "libraries"
NIGHTLY = "is a nightly build; final releases are recorded; `tfport targets record` records any wheel"


@pytest.fixture
def listed(tmp_path):
    """Write a requirements file; return its path."""

    def write(text: str, name: str = "requirements.txt") -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


NIGHTLIES = ["tf-nightly==2.16.0.dev20231001", "tf_nightly_gpu==2.8.0.dev20211201", "tf-nightly-cpu",
             "tf-nightly-2.0-preview", "ai-edge-tensorflow==2.21.0.dev20260126"]  # fmt: skip


@pytest.mark.parametrize("package", NIGHTLIES)
def test_a_nightly_build_is_a_tensorflow_that_is_unknown(package, listed):
    path = listed(f"{package}\nnumpy==1.26.4\n")
    for sides in ((path, "tensorflow==2.15.1"), ("tensorflow==2.15.1", path)):
        comparison = compare(*sides)
        assert (comparison.verdict, comparison.exit_code) == ("unknown", 2)
        assert "no-tensorflow" not in {difference.name for difference in comparison.differences}
        (sentence,) = comparison.unknown
        assert sentence.startswith(path)
        assert sentence.endswith(NIGHTLY)
        assert "unknown:" in str(comparison)


def test_a_first_environment_without_tensorflow_is_no_all_clear(listed):
    path = listed("numpy==1.26.4\ntensorflow-hub==0.16.1\n")
    comparison = compare(path, "tensorflow==2.15.1")
    assert (comparison.verdict, comparison.exit_code) == ("unknown", 2)
    assert comparison.unknown == [f"{path} has no TensorFlow: there is nothing to compare"]
    assert "no relevant differences" not in str(comparison)


def test_packages_named_like_tensorflow_are_not_tensorflow(listed):
    path = listed("tensorflow-hub==0.16.1\ntensorflow-datasets==4.9.4\n")
    comparison = compare("tensorflow==2.15.1", path)
    assert [difference.name for difference in comparison.differences] == ["no-tensorflow"]
    assert comparison.exit_code == 1


def test_a_release_that_is_not_recorded_is_unknown(listed):
    path = listed("tensorflow==2.99.0\n")
    comparison = compare("tensorflow==2.15.1", path)
    assert (comparison.verdict, comparison.exit_code) == ("unknown", 2)
    assert "tensorflow 2.99.0 is not recorded" in comparison.unknown[0]


def test_two_environments_without_a_known_tensorflow_are_an_error(listed):
    with pytest.raises(Error, match="nightly"):
        compare(listed("tf-nightly\n"), listed("numpy==1.26.4\n", "other.txt"))


def test_lost_ops_may_break_and_pass_a_gate():
    comparison = compare("tensorflow==2.15.1", "tensorflow==2.14.1")
    assert {difference.severity for difference in comparison.differences} <= {"may-break", "note"}
    assert (comparison.verdict, comparison.exit_code) == ("may-break", 0)
    assert comparison.exit_code_for("may-break") == 1


@pytest.mark.parametrize("versions", [("2.21.0", "2.8.4"), ("2.8.4", "2.21.0"), ("2.21.0", "1.15.5")])
def test_internal_ops_are_ignored(versions):
    comparison = compare(*(f"tensorflow=={version}" for version in versions))
    assert [name for d in comparison.differences for name in d.names if name.startswith("_")] == []


def test_ops_that_a_model_uses_break():
    comparison = compare("tensorflow==2.8.4", "tensorflow==1.13.2", model=tfport.load(ATTENTION))
    assert (comparison.verdict, comparison.exit_code) == ("breaks", 1)


def test_a_model_whose_verdict_is_unknown_is_no_all_clear():
    data = graph_to_def(graph("x = Placeholder() {dtype=float32, shape=(2,)}\ny = AcmeCopy(x)"))
    model = tfport.load(data.SerializeToString())
    library = str(LIBRARIES / "for_2_8_4" / "op.so")
    comparison = compare(
        "tensorflow==2.8.3", "tensorflow==2.8.4", model=model, libraries=[library], loader="capi"
    )
    assert {result.verdict for result in comparison.model.runtime} == {"unknown"}
    assert (comparison.verdict, comparison.exit_code) == ("unknown", 2)
    verbs = [verb for verb in (" runs on ", " loads on ") if any(verb in s for s in comparison.unknown)]
    assert verbs == [" runs on ", " loads on "]
    assert "not everything could be compared" in str(comparison)


def test_a_model_that_fails_in_both_is_no_all_clear():
    comparison = compare("tensorflow==1.13.1", "tensorflow==1.13.2", model=tfport.load(ATTENTION))
    assert (comparison.verdict, comparison.exit_code) == ("breaks", 1)
    assert "examples/attention does not run in either environment" in str(comparison)


def test_the_command_has_the_exit_codes(listed, capsys):
    assert main(["env", "tensorflow==2.15.1", "tensorflow==2.15.1"]) == 0
    assert main(["env", "tensorflow==2.15.1", "tensorflow==2.14.1"]) == 0
    assert main(["env", "tensorflow==2.15.1", "tensorflow==2.14.1", "--fail-on", "may-break"]) == 1
    assert main(["env", "tensorflow==2.15.1", listed("tf-nightly\n")]) == 2
    assert main(["env", "tensorflow==2.15.1", "tensorflow==2.15.1 numpy==2.0.2"]) == 1
    capsys.readouterr()


def test_the_verdict_is_in_the_json(listed, capsys):
    main(["env", listed("tf-nightly\n"), "tensorflow==2.15.1 numpy==2.0.2", "--json"])
    record = json.loads(capsys.readouterr().out)
    assert (record["verdict"], record["breaks"]) == ("breaks", True)
    assert record["build"]["unknown"] == record["unknown"][0]
    assert record["runtime"]["unknown"] is None


def test_every_line_fits_in_80_columns(listed):
    comparison = compare(listed("tf-nightly\nnumpy==2.0.2\n"), "tensorflow==2.15.1 numpy==2.0.2")
    assert max(map(len, str(comparison).splitlines())) <= 80


def test_a_model_that_runs_in_both_is_an_all_clear():
    model = tfport.load(path_of("keras_sequential"))
    comparison = compare("tensorflow==2.15.1", "tensorflow==2.16.2", model=model)
    assert (comparison.verdict, comparison.exit_code) == ("ok", 0)
