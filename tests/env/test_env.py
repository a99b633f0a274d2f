"""The relevant differences between two environments, rule by rule."""

import json
import tomllib
from pathlib import Path

import pytest
from tests.atlas.system_images import image
from tests.env.test_conflicts import CASES as CONFLICTS
from tests.recorded_models import path_of

import tfport
from tfport.env import difference as difference_module
from tfport.env.compare import compare
from tfport.env.difference import SEVERITIES
from tfport.errors import Error
from tfport.reports.console import plain
from tfport.reports.environments_text import render

ATTENTION = str(Path(__file__).parents[2] / "examples/attention")
NEW = "tensorflow==2.21.0"


def cuda(cudart: str, cudnn: str) -> str:
    """The newest TensorFlow with NVIDIA's packages beside it."""
    major = cudart.partition(".")[0]
    return f"{NEW} nvidia-cuda-runtime-cu{major}=={cudart} nvidia-cudnn-cu{major}=={cudnn}"


FITTING, TEXT = cuda("12.5.82", "9.3.0.75"), "2.8.4 tensorflow-text=="
CASES = [  # build              runtime                       name, severity, certainty
    (NEW,                       "2.8.4",                      "ops-lost may-break measured"),
    (NEW,                       "2.8.4",                      "attributes-lost may-break measured"),
    (NEW,                       "2.8.4",                      "kernels-lost may-break measured"),
    ("2.8.4",                   NEW,                          "ops-gained note measured"),
    ("2.8.4",                   "2.9.3",                      "symbols-lost may-break measured"),
    ("2.8.3",                   "2.8.4",                      "symbols-lost-in-patch note declared"),
    ("2.8.4",                   "2.9.3",                      "cxx-abi may-break measured"),
    (TEXT + "2.8.2",            "2.8.4",                      "addon-missing may-break measured"),
    (TEXT + "2.8.2",            TEXT + "2.4.3",               "addon-ops-lost may-break measured"),
    ("2.8.4",                   TEXT + "2.4.3",               "addon-refuses may-break declared"),
    ("2.15.1",                  "2.16.2",                     "keras-3 breaks measured"),
    ("2.15.1",                  "2.16.2 tf-keras==2.16.0",    "keras-3-with-tf-keras note likely"),
    ("2.16.2",                  "2.15.1",                     "keras-2 breaks measured"),
    ("2.15.1",                  "2.15.1 keras==3.5.0",        "keras-too-new breaks measured"),
    ("2.17.1",                  "2.17.1 keras==2.15.0",       "keras-too-old breaks measured"),
    ("2.15.1",                  "2.15.1 keras==2.14.0",       "package-out-of-range may-break declared"),
    ("2.15.1",                  "2.15.1 ml-dtypes==0.5.1",    "package-out-of-range may-break declared"),
    ("2.15.1 numpy==1.26.4",    "2.15.1 numpy==2.0.2",        "numpy-too-new breaks measured"),
    ("2.17.1 numpy==1.26.4",    "2.17.1 numpy==2.0.2",        "numpy-too-new breaks measured"),
    ("2.11.1 numpy==1.26.4",    "2.11.1 numpy==2.0.2",        "numpy-too-new breaks measured"),
    ("2.18.1 numpy==1.26.4",    "2.18.1 numpy==2.0.2",        "numpy-abi may-break likely"),
    ("2.11.1 protobuf==3.19.6", "2.11.1 protobuf==4.21.12",   "protobuf-too-new breaks measured"),
    ("2.15.1 protobuf==4.25.9", "2.15.1 protobuf==6.33.0",    "package-out-of-range may-break declared"),
    ("2.15.1 protobuf==4.25.9", "2.15.1 protobuf==3.19.6",    "protobuf-too-old breaks measured"),
    ("2.11.1 protobuf==3.19.6", "2.11.1 protobuf==3.20.3",    "package-out-of-range may-break declared"),
    ("2.18.1 numpy==2.0.2",     "2.18.1 numpy==2.2.6",        "package-out-of-range may-break declared"),
    ("2.8.0 protobuf==3.19.6",  "2.8.0 protobuf==4.21.12",    "protobuf-too-new breaks measured"),
    ("2.20.0 protobuf==6.33.1", "2.20.0 protobuf==7.34.0",    "package-too-new may-break likely"),
    ("2.10.1 keras==2.10.0",    "2.10.1 keras==2.11.0",       "package-fails breaks measured"),
    ("2.18.1 protobuf==4.25.3", "2.18.1 protobuf==5.29.5",    "protobuf-major note likely"),
    (FITTING,                   cuda("11.8.89", "9.3.0.75"),  "cuda-unfit breaks declared"),
    (FITTING,                   cuda("12.8.90", "8.9.7.29"),  "cuda-unfit breaks declared"),
    (FITTING,                   NEW,                          "cuda-missing may-break likely"),
    ("tensorflow-gpu==2.4.4",   FITTING,                      "cuda-sonames may-break declared"),
    ("tensorflow-gpu==2.4.4",   FITTING,                      "capabilities-lost may-break measured"),
]  # fmt: skip
SILENT = [  # build             runtime                       not reported
    ("2.16.1",                  "2.16.2",                     "symbols-lost"),
    ("2.16.2 numpy==1.26.4",    "2.16.2 numpy==1.25.0",       "package-out-of-range"),
    ("2.15.1 protobuf==4.25.9", "2.15.1 protobuf==3.20.3",    "protobuf-too-old"),
    ("2.20.0 protobuf==5.29.5", "2.20.0 protobuf==6.33.1",    "package-too-new"),
    ("2.11.1 numpy==2.0.2",     "2.11.1 numpy==2.0.2",        "numpy-too-new"),
    (FITTING,                   cuda("12.8.90", "9.8.0.87"),  "cuda-unfit"),
    ("2.4.4",                   NEW,                          "cuda-sonames"),
    ("2.15.1",                  "tensorflow-serving==2.16.1", "keras-3"),
    ("2.8.4",                   "tensorflow-serving==2.8.4",  "addon-refuses"),
]  # fmt: skip


def differences(build, runtime, **options):
    named = (text if text[0].isalpha() or "/" in text else f"tensorflow=={text}" for text in (build, runtime))
    return {difference.name: difference for difference in compare(*named, **options).differences}


@pytest.mark.parametrize(("build", "runtime", "says"), CASES, ids=[f"{c[2]}: {c[1]}" for c in CASES])
def test_a_difference_is_found(build, runtime, says):
    name, severity, sure = says.split()
    difference = differences(build, runtime)[name]
    assert (difference.severity, difference.sure) == (severity, sure)
    assert difference.breaks
    assert difference.source
    assert "{" not in difference.breaks + difference.source + "".join(difference.fixes)


@pytest.mark.parametrize(("build", "runtime", "name"), SILENT, ids=[f"{c[2]}: {c[1]}" for c in SILENT])
def test_irrelevant_differences_are_not_reported(build, runtime, name):
    assert name not in differences(build, runtime)


def test_cuda_makes_no_difference_without_gpus():
    assert "cuda-unfit" not in differences(FITTING, cuda("11.8.89", "8.9.7.29"), device="cpu")


NEWEST = {"packages": ("tensorflow-2.21.0",), "python": "3.11"}
SYSTEMS = [  # the first  the second                        reported
    ({},                  {"glibc": "2.24"},                "system-older GLIBC"),
    ({},                  {"glibcxx": "3.4.19"},            "system-older GLIBCXX"),
    (NEWEST,              NEWEST | {"glibc": "2.24"},       "below-floor GLIBC"),
    (NEWEST,              NEWEST | {"glibcxx": "3.4.19"},   "below-floor GLIBCXX"),
    (NEWEST,              NEWEST | {"machine": "aarch64"},  "machine-other machine"),
    ({},                  {"python": "3.9"},                "python-other Python"),
    ({},                  {"python": "3.12"},               "python-without-wheel Python"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "says"), SYSTEMS, ids=[case[2] for case in SYSTEMS])
def test_systems_are_compared(first, second, says, tmp_path):
    build, runtime = image(tmp_path / "build", **first), image(tmp_path / "runtime", **second)
    comparison = compare(str(build), str(runtime))
    name, subject = says.split()
    assert subject in {difference.subject for difference in comparison.differences if difference.name == name}
    assert comparison.exit_code_for("may-break") == 1


def test_a_system_that_is_older_than_tensorflow_needs(tmp_path):
    runtime = image(tmp_path / "runtime", **NEWEST, glibc="2.24")
    difference = differences("2.21.0", str(runtime))["below-floor"]
    assert difference.breaks == "everything: tensorflow 2.21.0 needs GLIBC_2.27, and the system has 2.24"


def test_equal_images_have_no_differences(tmp_path):
    build, runtime = image(tmp_path / "build"), image(tmp_path / "runtime")
    comparison = compare(str(build), str(runtime))
    assert (comparison.differences, comparison.exit_code) == ([], 0)
    assert "no relevant differences" in str(comparison)


def test_a_system_without_glibc(tmp_path):
    runtime = image(tmp_path / "runtime")
    for library in runtime.glob("usr/lib/*/lib*"):
        library.unlink()
    (runtime / "lib/ld-musl-x86_64.so.1").write_bytes(b"\x7fELF")
    assert "no-glibc" in differences("tensorflow==2.8.4", str(runtime))


def test_every_row_of_the_table_has_a_case():
    table = tomllib.loads(Path(difference_module.__file__).with_name("breaks.toml").read_text())
    tried = {case[2].split()[0] for case in [*CASES, *SYSTEMS]}
    tried |= {name.split()[1] for _, name in CONFLICTS}
    assert set(table) == tried | {"no-tensorflow", "no-glibc"}
    assert {row["severity"] for row in table.values()} == set(SEVERITIES)
    assert {row["sure"] for row in table.values()} == {"measured", "declared", "likely"}


def test_an_environment_without_tensorflow(tmp_path):
    (tmp_path / "freeze.txt").write_text("numpy==1.22.0\n")
    nothing = str(tmp_path / "freeze.txt")
    assert list(differences("tensorflow==2.8.4", nothing)) == ["no-tensorflow"]
    with pytest.raises(Error, match="no TensorFlow found"):
        compare(nothing, nothing)
    with pytest.raises(Error, match="no TensorFlow found"):
        compare("tensorflow==2.8.4", nothing, model=tfport.load(ATTENTION))


def test_with_a_model_only_its_findings_are_reported():
    comparison = compare("tensorflow==2.8.4", "tensorflow==1.13.2", model=tfport.load(ATTENTION))
    assert comparison.differences == []
    assert [(finding.code, finding.op) for finding in comparison.model.new] == [("TFP101", "BatchMatMulV2")]
    assert comparison.exit_code == 1
    text = str(comparison)
    assert "examples/attention does not run in the second environment" in text
    assert "error[TFP101]: op `BatchMatMulV2` is not registered in tensorflow 1.13.2" in text


def test_a_model_that_runs_in_both():
    model = tfport.load(path_of("keras_sequential"))
    comparison = compare(NEW, "tensorflow==2.15.1", model=model)
    assert (comparison.differences, comparison.model.new, comparison.exit_code) == ([], [], 0)


def test_what_fails_in_both_is_not_new():
    comparison = compare("tensorflow==1.13.1", "tensorflow==1.13.2", model=tfport.load(ATTENTION))
    assert {result.verdict for result in comparison.model.runtime} == {"fails"}
    assert (comparison.model.new, comparison.model.breaks, comparison.exit_code) == ([], False, 1)


def test_what_stops_tensorflow_itself_stops_every_model():
    runtime = "tensorflow==2.11.1 numpy==2.0.2"
    comparison = compare(NEW, runtime, model=tfport.load(path_of("keras_sequential")))
    assert [difference.name for difference in comparison.differences] == ["numpy-too-new"]
    assert comparison.exit_code == 1


def test_json_has_the_same_content():
    comparison = compare(f"{NEW} tensorflow-text==2.21.1", "tensorflow==1.13.2", model=tfport.load(ATTENTION))
    record = json.loads(json.dumps(comparison.to_json()))
    assert (record["version"], record["breaks"]) == (1, True)
    assert record["build"]["target"] == "tensorflow==2.21.0 tensorflow-text==2.21.1"
    assert record["build"]["has"]["tensorflow-text"] == "2.21.1"
    assert [finding["op"] for finding in record["model"]["new"]] == ["BatchMatMulV2"]
    assert {result["verdict"] for result in record["model"]["build"]} == {"runs"}


def test_long_lists_are_cut_unless_everything_is_requested():
    comparison = compare(NEW, "tensorflow==2.8.4")
    assert "more; --all shows them" in str(comparison)
    whole = plain(lambda width: render(comparison, width, everything=True))
    assert "more; --all shows them" not in whole
    assert len(whole) > len(str(comparison))
