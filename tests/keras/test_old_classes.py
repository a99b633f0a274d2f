"""A class in an old file that Keras had only later is custom."""

from __future__ import annotations

import numpy as np
import pytest
from tests.keras.built_models import answers, built, sequential

from tfport.atlas.keras_releases import KERAS, keras_releases
from tfport.atlas.versions import version_key
from tfport.errors import CannotRun
from tfport.keras.layer import LAYERS, layer
from tfport.keras.old_classes import BEFORE

CONFIG = sequential(("LayerNormalization", {"axis": -1, "center": False, "scale": False}), shape=(None, 2))


def test_the_old_classes_are_those_of_the_recorded_releases():
    old = [release for release in keras_releases(KERAS) if version_key(release.version) < version_key("2.4")]
    assert {name for release in old for name in release.names("layer")} == BEFORE


@pytest.mark.parametrize("version", ["1.2.2", "2.0.5", "2.3.1"])
def test_a_class_that_came_later_is_custom(version):
    with pytest.raises(CannotRun, match=rf"which Keras {version} did not have, so it is custom"):
        built(CONFIG, {}, version)


@pytest.mark.parametrize("version", ["2.2.4-tf", "2.4.0", "2.15.0", "3.0.5"])
def test_the_layer_of_keras_is_built(version):
    assert answers(built(CONFIG, {}, version), np.float32([[1, 3]]))[0][0, 1] == pytest.approx(1, abs=1e-2)


def test_a_declared_layer_takes_its_place():
    LAYERS.of("LayerNormalization")  # the declaration of Keras's own comes first

    @layer("LayerNormalization")
    def doubled(b, x, *, axis, center, scale):
        return b.Mul(x, 2.0)

    try:
        assert answers(built(CONFIG, {}, "2.2.4"), np.float32([[1, 3]]))[0].tolist() == [[2, 6]]
    finally:
        LAYERS.entries["LayerNormalization"].pop()
