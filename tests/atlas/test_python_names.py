"""`atlas.python_names`: which releases have a Python name."""

import pytest

from tfport.atlas.python_names import other_places, presence, public_name


@pytest.mark.parametrize(
    ("module", "name", "releases"),
    [
        ("tensorflow", "placeholder", "up to 1.15"),
        ("tensorflow", "Tensor", "since 1.0"),
        ("tensorflow", "keras", "since 1.4"),
        ("tensorflow.compat", "v1", "since 1.13"),
        ("tensorflow.keras.utils", "multi_gpu_model", "1.5 to 2.3"),
        ("tensorflow.python.framework.ops", "_TensorLike", "up to 2.2"),
        ("tensorflow.contrib.keras", None, "1.1 to 1.15"),
        ("tensorflow._api.v2.data", "AUTOTUNE", "since 2.4"),
        ("keras.backend", "set_image_dim_ordering", "up to 2.1"),
        ("keras.optimizers", "Adam", "up to 2.3, since 2.9"),
        ("tensorflow", "no_such_name", ""),
    ],
)
def test_the_releases_of_a_name_are_recorded(module, name, releases):
    assert str(presence(module, name)) == releases


def test_nothing_is_known_about_other_packages_and_modules():
    assert presence("numpy", "float") is None
    assert presence("tensorflow.no_such_module", "name") is None


@pytest.mark.parametrize(
    ("module", "public"),
    [
        ("tensorflow._api.v2.io", "tensorflow.io"),
        ("tensorflow_core._api.v1.compat.v1", "tensorflow.compat.v1"),
        ("tensorflow_core", "tensorflow"),
        ("keras.api._v2.keras.layers", "tensorflow.keras.layers"),
        ("tensorflow_addons", "tensorflow_addons"),
    ],
)
def test_modules_are_known_by_their_public_names(module, public):
    assert public_name(module) == public


def test_other_places_of_a_name_are_found():
    assert other_places("tensorflow", "gfile") == ["tensorflow.io.gfile", "tensorflow.compat.v1.gfile"]
    assert other_places("tensorflow", "random_normal") == ["tensorflow.compat.v1.random_normal"]
