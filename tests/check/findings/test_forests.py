"""Which releases of TensorFlow Decision Forests support which forests.

`expected/forest_releases.json` names the forests of `expected/forests.npz` that a real library refuses, or
that end its process (`tests/live/answer_forests.py`).
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import tfport
from tfport.atlas.versions import version_key
from tfport.check.findings.forests import KINDS, forest_features
from tfport.formats.files import MemoryFiles
from tfport.formats.proto import yggdrasil_pb2 as pb
from tfport.formats.yggdrasil.read import read_forest

EXPECTED = Path(__file__).parents[2] / "expected"
FORESTS = np.load(EXPECTED / "forests.npz")
REFUSED = json.loads((EXPECTED / "forest_releases.json").read_text())
NAMES = sorted({key.split("/")[0] for key in FORESTS if "/" in key})
ISOLATION = Path(__file__).parents[1] / "models" / "isolation_forest"


def forest(name):
    start = f"{name}/files/"
    files = {
        key.removeprefix(start): memoryview(FORESTS[key].tobytes())
        for key in FORESTS
        if key.startswith(start)
    }
    return read_forest(MemoryFiles(name, files), "")


def features(read):
    kind = [KINDS[read.kind]] if read.kind in KINDS else []
    return [*kind, *forest_features(read)]


@pytest.mark.parametrize("release", REFUSED)
def test_a_release_refuses_what_its_library_lacks(release):
    package, _, version = release.partition("==")
    is_older = {
        name: any(
            feature.first is None or version_key(version) < version_key(feature.first)
            for feature in features(forest(name))
        )
        for name in NAMES
    }
    expected = REFUSED[release]
    assert [name for name in NAMES if is_older[name] and package != "ydf-tf"] == expected


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        ("tensorflow==2.11.1 tensorflow-decision-forests==1.1.0", "fails"),
        ("tensorflow==2.18.0 tensorflow-decision-forests==1.11.0", "runs"),
        ("tensorflow==2.21.0 ydf-tf==2.21.0.post1", "runs"),
        ("tfport", "runs"),
    ],
)
def test_an_isolation_forest_needs_a_new_package(target, verdict):
    report = tfport.check(ISOLATION, on=target)
    codes = {finding.code for finding in report.findings}
    assert (report.verdict, "TFP065" in codes) == (verdict, verdict == "fails")


def changed_forest(folder, name, message, change):
    """The isolation forest with another file in its assets."""
    shutil.copytree(ISOLATION, folder / "model")
    file = folder / "model" / "assets" / name
    read = message.FromString(file.read_bytes())
    change(read)
    file.write_bytes(read.SerializeToString())
    return folder / "model"


def test_a_multitask_model_is_named_though_tfport_does_not_read_it(tmp_path):
    model = changed_forest(
        tmp_path, "header.pb", pb.ForestModelHeader, lambda header: setattr(header, "name", b"MULTITASKER")
    )
    report = tfport.check(model, on="tensorflow==2.11.1 tensorflow-decision-forests==1.1.0", loader="capi")
    assert "multitask models" in "".join(f.message for f in report.findings if f.code == "TFP065")
    report = tfport.check(model, on="tensorflow==2.11.1 tensorflow-decision-forests==1.2.0", loader="capi")
    assert "TFP065" not in {finding.code for finding in report.findings}


def test_a_vector_sequence_is_named(tmp_path):
    def change(spec):
        for column in spec.columns:
            column.type = pb.ForestColumn.NUMERICAL_VECTOR_SEQUENCE

    model = changed_forest(tmp_path, "data_spec.pb", pb.ForestDataSpec, change)
    report = tfport.check(model, on="tensorflow==2.17.1 tensorflow-decision-forests==1.10.1", loader="capi")
    assert "vector sequences" in "".join(f.message for f in report.findings if f.code == "TFP065")


def test_the_message_says_what_and_since_when():
    (finding,) = tfport.check(
        ISOLATION, on="tensorflow==2.11.1 tensorflow-decision-forests==1.1.0", loader="capi"
    ).findings
    assert "does not support isolation forests" in finding.message
    assert "since 1.10.1" in finding.cause()
