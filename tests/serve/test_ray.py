"""A replica without Ray: what it loads, and how it answers calls of a handle."""

import asyncio

import fsspec
import numpy as np
import pytest
from tests.recorded_models import MODELS

from tfport.errors import Error
from tfport.serve.ray import Replica, build

ROWS = np.ones((2, 3), np.float32)


@pytest.fixture(scope="module")
def store():
    """An object store with versions 1 and 12 of a model."""
    files = fsspec.filesystem("memory")
    for version in ("1", "12"):
        files.put(f"{MODELS / 'keras_sequential'}/", f"/models/keras/{version}/", recursive=True)
    yield "memory://models/keras"
    files.rm("/models", recursive=True)


@pytest.mark.parametrize(("asked", "version"), [(None, 12), (1, 1)])
def test_a_version_of_an_object_store(store, asked, version):
    replica = Replica(store, "keras", asked)
    assert replica.servable.version == version
    answer = asyncio.run(replica.predict({"x": ROWS}, outputs=["output_0"]))
    assert answer["output_0"].shape == (2, 2)


def test_a_folder_that_is_a_model_is_version_1():
    assert Replica(str(MODELS / "keras_sequential")).servable.version == 1


def test_what_is_refused_can_cross_processes():
    replica = Replica(str(MODELS / "keras_sequential"))
    with pytest.raises(ValueError, match="INVALID_ARGUMENT: input size does not match signature"):
        asyncio.run(replica.predict({}))


def test_a_missing_version(store):
    with pytest.raises(Error, match="version 5 not found; available: 1, 12"):
        Replica(store, version=5)


@pytest.mark.parametrize(
    ("args", "message"), [({"mode": "a"}, "unknown argument mode"), ({}, "missing argument: model=PATH")]
)
def test_invalid_arguments(args, message):
    with pytest.raises(Error, match=message):
        build(args)


def test_a_replica_that_needs_a_gpu_says_why_there_is_none(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(Error, match=r"device cuda: "):
        Replica(str(MODELS / "keras_sequential"), device="cuda")
