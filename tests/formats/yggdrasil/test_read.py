"""Forests as files: their containers, the structure of trees, and files that are damaged."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from tfport.errors import UnreadableFile
from tfport.formats.encoding.message_columns import MalformedMessages
from tfport.formats.encoding.tfrecord import record
from tfport.formats.files import MemoryFiles
from tfport.formats.proto import yggdrasil_pb2 as pb
from tfport.formats.yggdrasil.node_columns import tree_structure
from tfport.formats.yggdrasil.read import read_forest, read_nodes

RECORDED = np.load(Path(__file__).parents[2] / "expected" / "forests.npz")
NODES, HEADER = "nodes-00000-of-00001", "random_forest_header.pb"


def contents(name="votes"):
    start = f"{name}/files/"
    return {key.removeprefix(start): RECORDED[key].tobytes() for key in RECORDED if key.startswith(start)}


def read(files):
    stored = MemoryFiles("forest", {name: memoryview(data) for name, data in files.items()})
    forest = read_forest(stored, "")
    return forest, read_nodes(stored, "", "", forest)


def blobs(data):
    at, out = 8, []
    while at < len(data):
        size = struct.unpack("<I", data[at : at + 4])[0]
        out.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return out


def with_format(files, name, data):
    header = pb.RandomForestHeader.FromString(files[HEADER])
    header.node_format = name.encode()
    return files | {HEADER: header.SerializeToString(), NODES: data}


def test_the_summary_of_a_forest():
    forest, nodes = read(contents())
    assert (forest.kind, forest.task, forest.trees) == ("RANDOM_FOREST", "CLASSIFICATION", 5)
    assert [forest.columns[index].name for index in forest.features] == ["a", "b", "flag", "color", "many"]
    assert len(nodes.roots) == 5
    assert nodes.depth.max() == 4


def test_all_containers_have_the_same_nodes():
    files = contents()
    plain = files[NODES]
    records = b"".join(map(record, blobs(plain)))
    _, expected = read(files)
    packed = b"BS\x01\x00\x01\x00\x00\x00" + gzip.compress(plain[8:])
    for name, data in (("BLOB_SEQUENCE_GZIP", packed), ("TFE_RECORDIO", records)):
        _, nodes = read(with_format(files, name, data))
        assert (nodes.threshold == expected.threshold).all()
        assert (nodes.positive == expected.positive).all()


def test_trees_in_preorder():
    # a root with a leaf and a node with two leaves; then a single leaf
    inner = np.array([True, False, True, False, False, False])
    roots, positive, depth = tree_structure(inner, 2)
    assert roots.tolist() == [0, 5]
    assert positive.tolist() == [2, 1, 4, 3, 4, 5]
    assert depth.tolist() == [0, 1, 1, 2, 2, 0]


def test_a_tree_that_does_not_end():
    with pytest.raises(MalformedMessages, match="the files end after 0 of 1 trees"):
        tree_structure(np.array([True, False]), 1)


DAMAGED = [  # file, its new bytes, the error
    (NODES, b"", "expected a blob sequence, found b''"),
    (
        NODES,
        b"BS\x02\x00\x00\x00\x00\x00",
        "expected version 0 or 1 of the blob sequence format, found version 2",
    ),
    (NODES, b"BS\x01\x00\x07\x00\x00\x00", "expected no compression or gzip, found compression 7"),
    (NODES, b"BS\x01\x00\x01\x00\x00\x00abc", "the compressed blobs are damaged"),
    (NODES, b"BS\x00\x00\x00\x00\x00\x00\x01", "byte 8: the blob is truncated"),
    (NODES, b"BS\x00\x00\x00\x00\x00\x00\xff\xff\xff\x7f", "byte 12: the blob is truncated"),
    (NODES, b"BS\x00\x00\x00\x00\x00\x00", "the files end after 0 of 5 trees"),
    (NODES, b"BS\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x1a\x7f", "does not end within its message"),
    ("header.pb", b"\x0a\x05OTHER", "found a model `OTHER`"),
    (HEADER, b"\x08\x01\x10\x05\x3a\x01X", "stored as `X`; tfport reads BLOB_SEQUENCE"),
    (HEADER, b"\x08\xff\xff\xff\xff\x07\x10\x05", "expected at most"),
]


@pytest.mark.parametrize(("name", "data", "error"), DAMAGED)
def test_damaged_files_are_named(name, data, error):
    with pytest.raises(UnreadableFile) as raised:
        read(contents() | {name: data})
    assert error in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_condition_on_a_column_that_does_not_exist():
    spec = pb.ForestDataSpec.FromString(contents()["data_spec.pb"])
    del spec.columns[2:]
    with pytest.raises(UnreadableFile, match=r"is not among the 2 of data_spec\.pb"):
        read(contents() | {"data_spec.pb": spec.SerializeToString()})
