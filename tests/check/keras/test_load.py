"""The simulated loaders raise what the real releases of Keras raised, word for word.

`real_loads.json.xz` has the configurations of files that eight real releases saved, twelve of each taken at
random, and what twelve real releases did with all of them (`tools/truth/keras_loads.py`). No load was left
out: `known_differences.json` lists the loads that the simulation gets wrong, with the reasons. A load that it
gets right must leave the list.
"""

import json
import lzma
from pathlib import Path

import pytest

from tfport.atlas.keras_releases import TENSORFLOW, KerasRelease, keras_of_tensorflow, keras_releases
from tfport.check.keras.check_keras_file import simulated_load
from tfport.formats.keras.records import KerasFile

RECORD = json.loads(lzma.decompress(Path(__file__).with_name("real_loads.json.xz").read_bytes()))
REASONS = json.loads(Path(__file__).with_name("known_differences.json").read_text())
KNOWN = {(file, name) for files in REASONS.values() for file, names in files.items() for name in names}
NAMES = sorted({name for case in RECORD for name in case["outcomes"]})


def recorded(package: str, version: str):
    return next(release for release in keras_releases(package) if release.version == version)


def release_of(name: str) -> KerasRelease:
    package, _, version = name.rpartition("-")
    release = keras_of_tensorflow(version) if package == TENSORFLOW else recorded(package, version)
    assert release is not None
    return release


@pytest.mark.parametrize("name", NAMES)
def test_a_simulated_loader_raises_what_the_real_one_raised(name):
    release = release_of(name)
    for case in RECORD:
        file = KerasFile(
            f"FOLDER/{case['name']}", case["layout"], case["config"], None, case["keras_version"]
        )
        raised = simulated_load(file, release)
        simulated = [raised[0].error, raised[0].text] if raised else None
        is_same = simulated == case["outcomes"][name]
        assert is_same == ((case["name"], name) not in KNOWN), (case["name"], simulated)


def test_the_known_differences_are_recorded_and_few():
    assert {(case["name"], name) for case in RECORD for name in NAMES} >= KNOWN
    assert len(KNOWN) <= 0.011 * len(RECORD) * len(NAMES)


def test_the_record_has_many_files_and_releases():
    assert len(RECORD) >= 90
    assert len(NAMES) >= 12
    errors = [outcome for case in RECORD for outcome in case["outcomes"].values() if outcome]
    assert 400 < len(errors) < len(RECORD) * len(NAMES)
