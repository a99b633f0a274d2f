"""Inputs of `fuzz` for Keras files: HDF5 with all its structures, archives, and configurations."""

from __future__ import annotations

import json
import sys
import tarfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))

from tests.formats.hdf5.samples import VERSIONS, written
from tests.formats.keras.samples import DENSE, MODEL, h5, keras, put_layers, put_model, put_paths

from tfport.errors import Error
from tfport.formats.files import MemoryFiles
from tfport.formats.hdf5.datasets import Hdf5Dataset
from tfport.formats.hdf5.file import Hdf5Group, open_hdf5
from tfport.formats.keras.read import read_keras

MOST_OBJECTS = 1000
RECORDED = Path(__file__).parent.parent / "tests/formats/keras/recorded.tar.xz"


def hdf5_files() -> list[bytes]:
    """Small files with groups, attributes and arrays of all kinds."""
    return [written(**options) for options in VERSIONS.values()]


def keras_files() -> list[bytes]:
    """A model or weights in each layout."""
    lambda_layer = {"class_name": "Lambda", "config": {"name": "f", "function": ["4wEAAAA=", None, None]}}
    functional = {"class_name": "Functional", "config": {"name": "m", "layers": [DENSE, lambda_layer]}}
    sources = [put_model, put_paths, lambda file: put_layers(file, {"a": {"b": [1.0]}})]
    archives = [keras(), keras(functional, **{"assets/layers/lookup/vocabulary.txt": "a\nb"})]
    texts = [json.dumps(value).encode() for value in (MODEL, functional, {"modelTopology": MODEL})]
    return [*(h5(source) for source in sources), *archives, *texts, *recorded_files()]


def recorded_files() -> list[bytes]:
    """The files that real releases wrote."""
    with tarfile.open(RECORDED) as packed:
        members = [member for member in packed if member.name.endswith((".h5", ".keras", ".json"))]
        return [content.read() for member in members if (content := packed.extractfile(member))]


def read_hdf5(data: bytes) -> None:
    """Open every object of a file, with its attributes and elements."""
    groups = [open_hdf5(memoryview(data), "model.h5")]
    for group in groups:  # grows during the loop
        _ = group.attributes
        for link in group.links.values():
            if link.address is not None and len(groups) < MOST_OBJECTS:
                _open(group, link.name, groups)


def _open(group: Hdf5Group, name: str, groups: list[Hdf5Group]) -> None:
    try:
        inner = group.open(group.links[name])
        if isinstance(inner, Hdf5Dataset):
            _ = inner.attributes
            inner.read()
        else:
            groups.append(inner)
    except Error:
        pass


def read_model(data: bytes) -> None:
    """Read a Keras file and all its weights."""
    file = read_keras(MemoryFiles("model", {"model": memoryview(data)}), "model")
    for weights in file.weights.lists.values() if file.weights else ():
        for weight in weights:
            try:
                weight.read()
            except Error:
                continue
    dict(file.assets)
