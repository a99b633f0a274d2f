"""What does not fit together inside one environment."""

import json

import pytest
from packaging.specifiers import SpecifierSet

from tfport.atlas.atlas import atlas
from tfport.atlas.environment import read_environment
from tfport.cli.main import main
from tfport.env.compare import compare
from tfport.env.conflicts import conflicts_of, measured_conflicts
from tfport.env.python_packages import required_packages

CASES = [  # an environment                                      subject, name, severity
    ("tensorflow==2.10.1 protobuf==3.20.3",                      "protobuf package-out-of-range may-break"),
    ("tensorflow==2.10.1 protobuf==4.21.12",                     "protobuf protobuf-too-new breaks"),
    ("tensorflow==2.17.1 numpy==2.0.2",                          "numpy numpy-too-new breaks"),
    ("tensorflow==2.15.1 keras==3.5.0",                          "keras keras-too-new breaks"),
    ("tensorflow==2.10.1 keras==2.11.0",                         "keras package-fails breaks"),
    ("tensorflow==2.8.4 keras==2.9.0",                           "keras keras-fails breaks"),
    ("tensorflow==2.3.4 numpy==1.20.3",                          "numpy recurrent-layers-fail breaks"),
    ("tensorflow==2.3.4 numpy==1.24.4",                          "numpy package-fails breaks"),
    ("tensorflow==2.3.4 h5py==3.1.0",                            "h5py h5-files-fail breaks"),
    ("tensorflow==2.12.1 typing-extensions==4.12.2 wrapt==1.16", "wrapt package-out-of-range may-break"),
    ("tensorflow==2.12.1 tensorflow-estimator==2.10.0",
     "tensorflow-estimator package-out-of-range may-break"),
    ("tensorflow==2.12.1 gast==0.5.4",                           "gast package-out-of-range may-break"),
    ("tensorflow==2.8.4 tensorflow-text==2.7.3",                 "tensorflow-text addon-refuses may-break"),
    ("tensorflow==2.8.4 tf-keras==2.16.0",                       "tf-keras addon-refuses may-break"),
    ("tensorflow==2.17.1 tensorflow-io==0.37.1",                 "tensorflow-io addon-refuses may-break"),
    ("tensorflow==2.18.1 tensorflow-addons==0.23.0",
     "tensorflow-addons addon-import-fails breaks"),
    ("tensorflow==2.15.1 keras==3.5.0 tensorflow-addons==0.23.0",
     "tensorflow-addons addon-import-fails breaks"),
    ("tensorflow==2.14.1 tensorflow-hub==0.12.0",                "tensorflow-hub addon-import-fails breaks"),
    ("tensorflow==2.15.1 tensorflow-addons==0.23.0 typeguard==4.1.0",
     "tensorflow-addons addon-lacks-requirement may-break"),
    ("tensorflow==2.21.0 nvidia-cudnn-cu12==8.9.7.29",           "cuDNN cuda-unfit breaks"),
]  # fmt: skip
FITTING = [
    "tensorflow==2.10.1 protobuf==3.19.6 numpy==1.23.5 keras==2.10.0 h5py==3.8.0 wrapt==1.14.1",
    "tensorflow==2.8.4 tensorflow-text==2.8.2 tensorflow-addons==0.17.1",
    "tensorflow[and-cuda]==2.15.1",
    "tensorflow[and-cuda]==2.21.0",
    "tensorflow==2.15.1 tf-keras==2.15.1 tensorflow-hub==0.16.1 tensorflow-probability==0.23.0",
    "tensorflow-serving==2.8.4 protobuf==6.33.1",
    "tensorflow==2.18.1 tensorflow-io-gcs-filesystem==0.37.1",
    "tensorflow==2.13.1 tensorflow-addons==0.23.0",
    "tensorflow==2.15.1 tensorflow-addons==0.23.0 keras==2.15.0",
]


@pytest.mark.parametrize(("text", "says"), CASES, ids=[case[1] for case in CASES])
def test_a_conflict_inside_an_environment_is_found(text, says):
    conflicts = {(c.subject, c.name, c.severity): c for c in conflicts_of(read_environment(text))}
    conflict = conflicts[tuple(says.split())]
    assert "{" not in conflict.breaks + conflict.source + "".join(conflict.fixes)


@pytest.mark.parametrize("text", FITTING)
def test_what_fits_together_has_no_conflict(text):
    assert [conflict.breaks for conflict in conflicts_of(read_environment(text))] == []


@pytest.mark.parametrize(
    ("sides", "side", "differs"),
    [
        (("tensorflow==2.11.1 numpy==2.0.2", "tensorflow==2.11.1 numpy==2.0.2"), "both", []),
        (("tensorflow==2.11.1 numpy==2.0.2", "tensorflow==2.11.1 numpy==1.26.4"), "build", ["numpy-abi"]),
        (("tensorflow==2.11.1 numpy==1.26.4", "tensorflow==2.11.1 numpy==2.0.2"), None, ["numpy-too-new"]),
    ],
)
def test_each_conflict_is_reported_once(sides, side, differs):
    comparison = compare(*sides)
    assert [each.side for each in comparison.conflicts] == ([side] if side else [])
    assert [difference.name for difference in comparison.differences] == differs
    assert comparison.exit_code == 1


def test_conflicts_are_in_text_and_json(capsys):
    main(["env", "tensorflow==2.11.1 numpy==2.0.2", "tensorflow==2.11.1 numpy==1.26.4"])
    text = capsys.readouterr().out
    assert "conflicts in tensorflow==2.11.1 numpy==2.0.2" in text
    assert "breaks: import of tensorflow 2.11.1: it was built for numpy 1" in text
    main(["env", "tensorflow==2.11.1 numpy==2.0.2", "tensorflow==2.11.1 numpy==1.26.4", "--json"])
    (record,) = json.loads(capsys.readouterr().out)["conflicts"]
    assert (record["side"], record["name"], record["subject"]) == ("build", "numpy-too-new", "numpy")


@pytest.mark.parametrize("row", measured_conflicts(), ids=lambda row: f"{row.package}{row.versions}")
def test_measured_rows_name_what_was_tried(row):
    release, _, rest = row.measured.partition(" with ")
    version = rest.removeprefix(f"{row.package} ").partition(":")[0]
    assert atlas().find("tensorflow", release), release
    assert SpecifierSet(str(row.tensorflow)).contains(release)
    assert row.versions.contains(version)


def test_an_import_that_fails_is_named_with_what_lacks_it():
    environment = read_environment("tensorflow==2.18.1 tensorflow-addons==0.23.0 keras==3.8.0")
    (conflict,) = conflicts_of(environment)
    assert conflict.breaks == (
        "import of tensorflow-addons 0.23.0: it imports keras.src.engine, which Keras 3.8.0 does not have"
    )
    assert conflict.fixes[0].startswith("no version of tensorflow-addons supports tensorflow 2.18.1")


def everything_beside(tensorflow, *others):
    """A list of what pip installs beside a TensorFlow, and other packages."""
    build = atlas().find("tensorflow", tensorflow)
    names = required_packages(build)
    return "\n".join([f"tensorflow=={tensorflow}", *names, *others])


def test_a_requirement_of_a_companion_that_is_not_there_may_break_its_import(tmp_path):
    listed = tmp_path / "freeze.txt"
    listed.write_text(everything_beside("2.15.1", "tensorflow-hub==0.16.1"))
    (conflict,) = conflicts_of(read_environment(str(listed)))
    assert (conflict.name, conflict.subject, conflict.severity) == (
        "addon-lacks-requirement", "tensorflow-hub", "may-break",
    )  # fmt: skip
    assert "it requires tf-keras>=2.14.1, and it is not installed" in conflict.breaks
    assert conflict.fixes == ("pip install 'tf-keras>=2.14.1'",)
    listed.write_text(everything_beside("2.15.1", "tensorflow-hub==0.16.1", "tf-keras==2.15.1"))
    assert list(conflicts_of(read_environment(str(listed)))) == []


def test_what_a_short_list_does_not_name_is_not_missing():
    assert list(conflicts_of(read_environment("tensorflow==2.15.1 tensorflow-hub==0.16.1"))) == []
