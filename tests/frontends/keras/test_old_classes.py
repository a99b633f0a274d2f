"""A class in an old file that Keras had only later is custom."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built, sequential

from tfport.atlas.keras_releases import KERAS, TENSORFLOW, keras_releases
from tfport.atlas.versions import version_key
from tfport.errors import CannotRun
from tfport.frontends.keras.layer import LAYERS, layer
from tfport.frontends.keras.problems import BEFORE, BUILT_IN, FIRST_VERSION

CONFIG = sequential(("LayerNormalization", {"axis": -1, "center": False, "scale": False}), shape=(None, 2))


def test_the_old_classes_are_those_of_the_recorded_releases():
    old = [release for release in keras_releases(KERAS) if version_key(release.version) < version_key("2.4")]
    assert {name for release in old for name in release.names("layer")} == BEFORE


def stated(release):
    """The version that files of a release state, as numbers."""
    numbers = version_key(release.version).release[:2]
    if release.package == KERAS:
        return numbers
    if numbers <= (1, 12):
        return 2, 1
    return (2, 2, 4) if numbers <= (2, 2) else max(numbers, (2, 4))


def test_the_later_classes_have_the_first_recorded_version():
    since = [
        release for release in keras_releases(KERAS) if version_key(release.version) >= version_key("2.6")
    ]
    first = {}
    for release in [*keras_releases(TENSORFLOW), *since]:
        for name in release.names("layer"):
            first.setdefault(name, stated(release))
    assert {name: first[name] for name in FIRST_VERSION} == FIRST_VERSION
    declared = {name for name in LAYERS.all() if LAYERS.of(name)[0].function.__module__.startswith(BUILT_IN)}
    later = {name for name, numbers in first.items() if numbers > (2, 1) and name not in BEFORE}
    assert later & declared <= FIRST_VERSION.keys()


@pytest.mark.parametrize(
    ("class_name", "version"),
    [("GroupNormalization", "2.4.0"), ("UnitNormalization", "2.2.4-tf"), ("RMSNormalization", "3.5.0")],
)
def test_a_class_of_a_later_keras_in_tensorflow_is_custom(class_name, version):
    config = sequential((class_name, {"axis": -1}), shape=(None, 2))
    with pytest.raises(CannotRun, match=rf"`{class_name}`, which Keras {version} did not have"):
        built(config, {}, version)


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
