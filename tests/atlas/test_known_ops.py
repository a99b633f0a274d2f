"""The recorded ops, compared with what was measured on the releases."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from importlib import resources

import pytest

from tfport.atlas.atlas import Atlas, atlas
from tfport.atlas.known_ops import KnownOps, known_ops, ops_of_other_runtimes
from tfport.atlas.versions import version_key
from tfport.formats.proto.graph_pb2 import DT_INT32

NEWEST = "2.21.0"
OPS = {  # how many ops TF_GetAllOpList of each release lists
    "1.4.1": 793, "1.8.0": 999, "1.12.3": 1122, "1.13.2": 1167, "1.14.0": 1321, "1.15.5": 1392,
    "2.0.4": 1385, "2.3.4": 1511, "2.5.3": 1738, "2.8.4": 1780, "2.11.1": 1826, "2.13.1": 1856,
    "2.16.2": 1890, "2.18.1": 1898, "2.20.0": 1908, "2.21.0": 1909,
}  # fmt: skip
RELEASES = [  # op              first     last recorded release that has it
    ("HashTableV2",             "1.2.0",  NEWEST),
    ("AddV2",                   "1.5.0",  NEWEST),
    ("StatefulPartitionedCall", "1.10.0", NEWEST),
    ("BatchMatMulV2",           "1.14.0", NEWEST),
    ("BatchMatMulV3",           "2.6.0",  NEWEST),
    ("FusedBatchNormV3",        "1.14.0", NEWEST),
    ("DisableCopyOnRead",       "2.10.0", NEWEST),
    ("CompareAndBitpack",       "1.4.0",  "2.5.3"),
    ("TRTEngineOp",             "1.15.0", "2.17.1"),
    ("Resampler",               "1.3.0",  "1.15.5"),
    ("_Arg",                    "1.0.0",  NEWEST),
    ("_FusedConv2D",            "1.13.1", NEWEST),
]  # fmt: skip


def test_the_number_of_ops():
    builds = {release: atlas().find("tensorflow", release) for release in OPS}
    assert {release: len(atlas().source(build).ops()) for release, build in builds.items()} == OPS


def test_every_final_release_is_recorded_oldest_first():
    recorded = known_ops().recorded()
    assert (recorded[0], recorded[-1], len(recorded)) == ("1.0.0", NEWEST, 100)
    assert recorded == sorted(recorded, key=version_key)


@pytest.mark.parametrize(("op", "first", "last"), RELEASES)
def test_first_and_last_release(op, first, last):
    assert known_ops().releases(op) == (first, last)


def test_split_has_a_list_of_outputs():
    split = known_ops()["Split"]
    dimension, value = split.input_arg
    (output,) = split.output_arg
    assert (dimension.name, dimension.type) == ("split_dim", DT_INT32)
    assert (value.name, value.type_attr) == ("value", "T")
    assert (output.name, output.type_attr, output.number_attr) == ("output", "T", "num_split")


def test_batch_norm_names_its_outputs():
    names = " ".join(a.name for a in known_ops()["FusedBatchNormV3"].output_arg)
    assert names == "y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3"


def test_an_unknown_op_is_not_a_key():
    ops = known_ops()
    assert "Acme>Tokenize" not in ops
    assert ops.get("Acme>Tokenize") is None
    assert ops.releases("Acme>Tokenize") is None
    with pytest.raises(KeyError):
        ops["Acme>Tokenize"]


def test_the_provider_of_a_contrib_op_is_its_library():
    assert known_ops().providers("Resampler") == ["contrib/resampler/python/ops/_resampler_ops.so"]
    assert known_ops().providers("MatMul") == []


def test_the_provider_of_an_add_on_op_is_its_package():
    assert known_ops().providers("CaseFoldUTF8") == ["tensorflow-text"]
    assert known_ops().releases("CaseFoldUTF8") is None
    assert [arg.name for arg in known_ops()["CaseFoldUTF8"].input_arg] == ["input"]


def test_every_definition_has_its_name_and_no_prose():
    ops = known_ops()
    assert len(ops) == len(list(ops)) > 2500
    for name, op in ops.items():
        assert op.name == name
        assert bool(op.summary) == bool(op.description) == (name in ops_of_other_runtimes())
        assert not any(part.description for part in (*op.input_arg, *op.output_arg, *op.attr))


def test_the_shared_instance_caches_definitions():
    assert known_ops() is known_ops()
    assert known_ops()["MatMul"] is known_ops()["MatMul"]


def test_many_threads_can_read_at_once():
    with resources.as_file(resources.files("tfport.atlas") / "atlas.sqlite") as path:
        ops = KnownOps(Atlas(path))
    names = list(ops)[:400]
    with ThreadPoolExecutor(8) as pool:
        read = list(pool.map(lambda _: [ops[name].name for name in names], range(8)))
    assert read == [names] * 8


def test_the_file_is_not_written_to():
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        atlas().rows("DELETE FROM op")
