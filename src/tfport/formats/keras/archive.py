"""Read a `.keras` file: configuration, metadata, weights and assets in a zip file, or in a folder."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from tfport.errors import UnreadableFile
from tfport.formats.archive.archive import Archive
from tfport.formats.files import Files
from tfport.formats.hdf5.file import open_hdf5
from tfport.formats.keras.h5_file import stored_weights
from tfport.formats.keras.records import Json, KerasFile, StoredWeights, UnsafeContent
from tfport.formats.keras.stored_json import json_object, stored_model, text_of
from tfport.formats.keras.stored_weights import path_weights
from tfport.formats.keras.unsafe import REPEATED, leads_outside, unsafe_config

CONFIG, METADATA, ASSETS = "config.json", "metadata.json", "assets"
WEIGHTS, WEIGHTS_MAP, NPZ = "model.weights.h5", "model.weights.json", "model.weights.npz"
"""Weights in one file; in several, with a list of them; and in pickles, which early releases could write."""
MOST_ASSETS = 10_000


class Assets(Mapping[str, bytes]):
    """Files below `assets`, read on request."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.names = list(_below(files, ASSETS)) if ASSETS in files.list()[1] else []

    def __getitem__(self, name: str) -> bytes:
        if name not in self.names:
            raise KeyError(name)
        return bytes(self.files.map(f"{ASSETS}/{name}"))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def _below(files: Files, folder: str) -> Iterator[str]:
    folders = [folder]
    for number, inner in enumerate(folders):  # grows during the loop
        if number > MOST_ASSETS:
            raise UnreadableFile(f"{files.label(folder)}: more than {MOST_ASSETS} folders")
        names, below = files.list(inner)
        yield from (f"{inner}/{name}".removeprefix(f"{folder}/") for name in names)
        folders += [f"{inner}/{name}" for name in below]


def read_archive(files: Files) -> KerasFile:
    """The model in the files of a `.keras` archive."""
    config = stored_model(json_object(files.map(CONFIG), files.label(CONFIG)), files.label(CONFIG))
    metadata: Mapping[str, Json] = {}
    if files.has(METADATA):
        metadata = json_object(files.map(METADATA), files.label(METADATA))
    unsafe = [*unsafe_config(config), *_repeated(files)]
    training = config.get("compile_config")
    return KerasFile(
        where=files.where,
        layout="keras",
        config=config,
        weights=_weights(files, unsafe),
        keras_version=text_of(metadata.get("keras_version")),
        backend=text_of(metadata.get("backend")),
        training=training if isinstance(training, dict) else None,
        saved_at=text_of(metadata.get("date_saved")),
        assets=Assets(files),
        unsafe=unsafe,
    )


def _repeated(files: Files) -> Iterator[UnsafeContent]:
    """Members with the same name: programs differ in which they read."""
    if isinstance(files, Archive):
        for name in sorted(files.tree.repeated):
            yield UnsafeContent("name", name, REPEATED)


def _weights(files: Files, unsafe: list[UnsafeContent]) -> StoredWeights | None:
    if files.has(WEIGHTS):
        root = open_hdf5(files.map(WEIGHTS), files.label(WEIGHTS))
        return stored_weights(root, unsafe) or path_weights([root], unsafe)
    if files.has(WEIGHTS_MAP):
        return sharded_weights(files, WEIGHTS_MAP, unsafe)
    if files.has(NPZ):
        unsafe.append(UnsafeContent("pickle", NPZ, "weights in Python pickles"))
    return None


def read_weights_list(files: Files, name: str) -> KerasFile:
    """The weights in several files that `save_weights` wrote."""
    unsafe: list[UnsafeContent] = []
    folder = files.under(posixpath.dirname(name))
    weights = sharded_weights(folder, posixpath.basename(name), unsafe)
    return KerasFile(files.label(name), "weights", None, weights, unsafe=unsafe)


def sharded_weights(files: Files, name: str, unsafe: list[UnsafeContent]) -> StoredWeights:
    """Weights in several files, which a JSON file lists."""
    listed = json_object(files.map(name), files.label(name)).get("weight_map")
    if not isinstance(listed, dict):
        raise UnreadableFile(f"{files.label(name)}: expected a `weight_map`, found none")
    shards: dict[str, None] = {}
    for value in listed.values():
        shards.update(dict.fromkeys(value if isinstance(value, list) else [value]))
    roots = []
    for shard in shards:
        if not isinstance(shard, str) or leads_outside(shard) or "/" in shard or "\0" in shard:
            raise UnreadableFile(
                f"{files.label(name)}: expected the name of a file next to it, found {shard!r:.60}"
            )
        if not files.has(shard):
            raise UnreadableFile(f"{files.label(shard)}: missing; {name} lists weights in it")
        roots.append(open_hdf5(files.map(shard), files.label(shard)))
    return path_weights(roots, unsafe)
