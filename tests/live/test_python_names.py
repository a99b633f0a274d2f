"""The Python names that `explain` records are those of the real TensorFlow."""

import importlib

import pytest
import tensorflow as tf

from tfport.atlas.python_names import presence

PUBLIC = ("", ".io", ".nn", ".math", ".data", ".compat.v1", ".compat.v1.train", ".keras", ".keras.utils")


def has(module, name):
    return presence(module, name).is_current


@pytest.mark.parametrize("path", PUBLIC)
def test_public_names_are_recorded(path):
    module = tf
    for part in path.split(".")[1:]:
        module = getattr(module, part)
    names = [name for name in dir(module) if not name.startswith("_")]
    assert [name for name in names if not has(f"tensorflow{path}", name)] == []


@pytest.mark.parametrize("name", ["framework.ops", "util.tf_export", "eager.context"])
def test_what_private_modules_define_is_recorded(name):
    module = importlib.import_module(f"tensorflow.python.{name}")
    own = [n for n, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    assert [n for n in own if not has(module.__name__, n)] == []


@pytest.mark.parametrize("name", ["placeholder", "Session", "gfile", "log"])
def test_removed_names_are_not_there(name):
    assert not hasattr(tf, name)
    assert not has("tensorflow", name)
