"""What Keras would execute, import or open is listed, and never followed."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broken import make_keras
from tests.broken.record import recorded
from tests.formats.keras.samples import (
    DENSE,
    MODEL,
    archive,
    h5,
    keras,
    put_model,
    put_paths,
    read,
    unsafe_of,
)

from tfport.errors import Error, UnreadableFile
from tfport.formats.files import MemoryFiles
from tfport.formats.keras.read import read_keras
from tfport.formats.keras.records import KerasFile
from tfport.formats.keras.unsafe import unsafe_config

EXPECTED = recorded("keras")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("broken") / "keras"
    make_keras.write(folder)
    return folder


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_with_unsafe_content(name, folder):
    assert make_keras.sentence(folder / name) == EXPECTED[name]


def test_each_file_is_recorded():
    assert sorted(make_keras.cases()) == sorted(EXPECTED)


def function(module, name):
    return {"module": module, "class_name": "function", "config": name, "registered_name": "function"}


def layer(kind, **config):
    return {"class_name": kind, "config": {"name": "x", **config}}


CODE = ["4wEAAAA=", None, None]
MARSHALLED = "a marshalled Python function"
UNSAFE = [
    (layer("Lambda", function=CODE), [("lambda", "x", MARSHALLED)]),
    (layer("Lambda", function="4wEAAAA=", function_type="lambda"), [("lambda", "x", MARSHALLED)]),
    (
        layer("Lambda", function=CODE, output_shape=CODE, output_shape_type="lambda"),
        [("lambda", "x", MARSHALLED), ("lambda", "x", f"{MARSHALLED} (output_shape)")],
    ),
    (
        layer("Dense", activation={"class_name": "__lambda__", "config": {"code": "x"}}),
        [("lambda", "x", MARSHALLED)],
    ),
    (
        layer("Dense", activation=function("builtins", "eval")),
        [("function", "x", "the function `builtins.eval`")],
    ),
    (
        {**layer("get_file"), "module": "keras.utils"},
        [("function", "x", "the function `keras.utils.get_file`")],
    ),
    (
        layer("Dense", activation=function("tensorflow.python.framework.load_library", "load_op_library")),
        [("function", "x", "the function `tensorflow.python.framework.load_library.load_op_library`")],
    ),
    (
        {"module": "my.layers", "class_name": "Mine", "config": {"name": "x"}, "registered_name": "my>Mine"},
        [("module", "x", "`my.layers.Mine`, which is outside Keras")],
    ),
]  # fmt: skip
SAFE = [
    layer("Lambda", function="my_function", function_type="function", module="__main__"),
    layer("Dense", kernel_initializer={"module": "keras.initializers", "class_name": "Zeros", "config": {}}),
    layer("Dense", activation=function("builtins", "my_activation")),
    layer("Dense", activation=function("keras.src.activations.activations", "relu")),
    layer("Dense", activation=function("keras.activations", "gelu")),
    layer("StringLookup", vocabulary=["a", "b"]),
    layer("StringLookup", vocabulary=None),
    {**layer("Add"), "module": "keras.src.ops.numpy"},
    {**layer("Functional"), "module": "tensorflow.python.keras.engine.functional"},
    {"class_name": "__typespec__", "spec_name": "TensorSpec", "serialized": [],
     "module": "tensorflow.python.framework.tensor_spec"},
    {**layer("Dense"), "config": {"name": "block1/conv..1"}},
]  # fmt: skip


@pytest.mark.parametrize(("config", "expected"), UNSAFE)
def test_unsafe_configurations(config, expected):
    model = {"class_name": "Sequential", "config": {"name": "m", "layers": [DENSE, config]}}
    assert [(c.kind, c.where, c.detail) for c in unsafe_config(model)] == expected


@pytest.mark.parametrize("config", SAFE)
def test_ordinary_configurations(config):
    assert unsafe_config({"class_name": "Sequential", "config": [config]}) == []


def test_members_with_the_same_name_are_listed():
    buffer = io.BytesIO(keras())
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "a") as file:
        warnings.simplefilter("ignore")
        file.writestr("config.json", json.dumps({**MODEL, "config": {"name": "other"}}))
    file = read(buffer.getvalue())
    assert unsafe_of(file) == [("name", "config.json", "several members with the same name")]
    assert file.config["config"] == {"name": "other"}


def test_a_bomb_is_not_unpacked():
    members = {"metadata.json": {}, "config.json": MODEL, "model.weights.h5": bytes(65 << 20)}
    with pytest.raises(UnreadableFile, match="over 250 times as much; no model compresses like that"):
        read(archive(members, zipfile.ZIP_DEFLATED))


def test_a_group_that_contains_itself_is_listed():
    def write(file):
        put_paths(file)
        file["layers/dense/again"] = file["layers"]

    detail = "a group that contains itself"
    assert unsafe_of(read(h5(write))) == [("link", "layers/dense/again", detail)]


def test_all_weights_in_another_file_are_listed():
    import h5py

    def write(file):
        put_model(file)
        del file["model_weights"]
        file["model_weights"] = h5py.ExternalLink("/srv/other.h5", "/")

    file = read(h5(write))
    assert unsafe_of(file) == [
        ("link", "model_weights", "an external link to `/` in the file `/srv/other.h5`")
    ]
    assert file.weights is None


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["class_name", "config", "module", "name", "function", "vocabulary", "layers", "x"]
            ),
            inner | st.sampled_from(["Lambda", "function", "StringLookup", "os", "../x"]),
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(deadline=None)
@given(JSON, st.sampled_from(["config.json", "m.json"]))
def test_any_json_is_read_or_refused(value, name):
    """Nothing but an error of tfport may come of it."""
    model = {"class_name": "Sequential", "config": value}
    for content in (value, model, {"modelTopology": model, "weightsManifest": value}):
        data = json.dumps(content).encode()
        files = MemoryFiles("m", {name: memoryview(data), "metadata.json": memoryview(data)})
        with suppress(Error):
            assert isinstance(read_keras(files, name), KerasFile)


def test_groups_inside_each_other_are_bounded():
    with pytest.raises(UnreadableFile, match="or 200 inside each other"):
        read(h5(lambda file: file.create_group("/".join(["layers"] * 250))))


def test_links_inside_a_whole_model_are_listed():
    import h5py

    def write(file):
        put_model(file)
        file["model_weights/dense/dense"].move("bias:0", "other")
        file["model_weights/dense/dense/bias:0"] = h5py.SoftLink("other")

    file = read(h5(write))
    assert unsafe_of(file) == [("link", "model_weights/dense/dense/bias:0", "a soft link to `other`")]
    assert file.weights.lists["dense"][0].read().shape == (4, 3)
    with pytest.raises(UnreadableFile, match="a soft link to `other`; tfport does not follow it"):
        file.weights.lists["dense"][1].read()
