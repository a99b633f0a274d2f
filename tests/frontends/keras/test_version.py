"""The version that saved a file, stated or implied."""

from __future__ import annotations

import pytest

from tfport.formats.keras.records import KerasFile
from tfport.frontends.keras.version import KerasVersion

KERAS_3 = {"module": "keras", "class_name": "Sequential", "config": {}}
KERAS_1 = {"class_name": "Sequential", "config": []}


@pytest.mark.parametrize(
    ("stated", "config", "major", "is_tensorflow"),
    [
        ("2.2.4-tf", KERAS_1, 2, True),
        ("3.0.5", KERAS_3, 3, False),
        ("", KERAS_3, 3, False),
        ("", KERAS_1, 1, False),
        ("", None, 1, False),
    ],
)
def test_version_of_a_file(stated, config, major, is_tensorflow):
    version = KerasVersion.of(KerasFile("m", "json", config, None, stated))
    assert (version.major, version.is_tensorflow) == (major, is_tensorflow)
