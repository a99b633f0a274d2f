"""The simulated loaders raise what the real releases of Keras raised, word for word.

`real_loads.json.xz` has configurations that real releases saved, and what nine real releases did with them
(`tools/truth/keras_loads.py`).
"""

import json
import lzma
from pathlib import Path

import pytest

from tfport.atlas.keras_releases import TENSORFLOW, KerasRelease, keras_of_tensorflow, keras_release
from tfport.check.keras.load import simulated_load
from tfport.formats.keras.records import KerasFile

RECORD = json.loads(lzma.decompress(Path(__file__).with_name("real_loads.json.xz").read_bytes()))
NAMES = sorted({name for case in RECORD for name in case["outcomes"]})


def release_of(name: str) -> KerasRelease:
    package, _, version = name.rpartition("-")
    release = keras_of_tensorflow(version) if package == TENSORFLOW else keras_release(package, version)
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
        assert simulated == case["outcomes"][name], case["name"]


def test_the_record_has_many_files_and_releases():
    assert len(RECORD) >= 100
    assert len(NAMES) >= 9
    errors = [outcome for case in RECORD for outcome in case["outcomes"].values() if outcome]
    assert 500 < len(errors) < len(RECORD) * len(NAMES)
