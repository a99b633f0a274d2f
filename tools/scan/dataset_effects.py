"""Datasets that read, write or list files, or connect to a service."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf
from effect_case import NOBODY, Action, effect_case, raw, records, text
from tensorflow.python.data.ops.dataset_ops import _VariantDataset


def elements(dataset: Any, count: int = 5) -> list[Any]:
    """Take elements of a dataset variant of one string or number."""
    iterator = raw.AnonymousIteratorV3(output_types=dataset.types, output_shapes=dataset.shapes)
    raw.MakeIterator(dataset=dataset.variant, iterator=iterator)
    got = []
    try:
        for _ in range(count):
            got.append(
                raw.IteratorGetNext(
                    iterator=iterator, output_types=dataset.types, output_shapes=dataset.shapes
                )
            )
    except tf.errors.OutOfRangeError:
        pass
    return got


@dataclass
class Variant:
    """A dataset as raw ops see it."""

    variant: Any
    types: Any
    shapes: Any


def dataset(op: str, **inputs: Any) -> Action:
    """Create a dataset of strings and take elements of it."""
    types = inputs.pop("types", [tf.string])
    shapes = [[]] * len(types)
    typed = inputs.pop("typed", False)
    extra = {"output_types": types, "output_shapes": shapes} if typed else {}
    return lambda: elements(Variant(getattr(raw, op)(**inputs, **extra), types, shapes))


def numbers() -> Any:
    return raw.RangeDataset(
        start=tf.constant(0, tf.int64), stop=tf.constant(3, tf.int64), step=tf.constant(1, tf.int64),
        output_types=[tf.int64], output_shapes=[[]],
    )  # fmt: skip


def inner(op: str, **inputs: Any) -> Action:
    """Take elements of a dataset of strings inside of another one: alone, it would be serialized first."""

    def create(_: Any) -> Any:
        return _VariantDataset(getattr(raw, op)(**inputs), tf.TensorSpec([], tf.string))

    return lambda: list(tf.data.Dataset.range(1).flat_map(create))


@tf.function
def shard(*_: Any) -> Any:
    return tf.constant(0, tf.int64)


SMALL = tf.constant(0, tf.int64)


@effect_case("TextLineDataset")
def _(folder: Path) -> Action:
    return dataset("TextLineDataset", filenames=[text(folder)], compression_type="", buffer_size=SMALL)


@effect_case("TFRecordDataset")
def _(folder: Path) -> Action:
    return dataset("TFRecordDataset", filenames=[records(folder)], compression_type="", buffer_size=SMALL)


@effect_case("TFRecordDatasetV2")
def _(folder: Path) -> Action:
    offsets = tf.constant([0], tf.int64)
    return inner(
        "TFRecordDatasetV2", filenames=[records(folder)], compression_type="", buffer_size=SMALL,
        byte_offsets=offsets,
    )  # fmt: skip


@effect_case("FixedLengthRecordDataset", "FixedLengthRecordDatasetV2")
def _(op: str, folder: Path) -> Action:
    one = tf.constant(1, tf.int64)
    more = {"compression_type": ""} if op.endswith("V2") else {}
    return inner(
        op, filenames=[text(folder)], header_bytes=SMALL, record_bytes=one, footer_bytes=SMALL,
        buffer_size=SMALL, **more,
    )  # fmt: skip


@effect_case("CSVDataset", "CSVDatasetV2", "ExperimentalCSVDataset")
def _(op: str, folder: Path) -> Action:
    path = text(folder, content="a\nb\n")
    none = tf.constant([], tf.int64)
    more = {"exclude_cols": none} if op.endswith("V2") else {}
    inputs = {
        "filenames": [path], "compression_type": "", "buffer_size": tf.constant(1000, tf.int64),
        "header": False, "field_delim": ",", "use_quote_delim": True, "na_value": "", "select_cols": none,
        "record_defaults": [tf.constant([""])], "output_shapes": [[]],
    }  # fmt: skip
    return dataset(op, **inputs, **more)


@effect_case("LMDBDataset", "ExperimentalLMDBDataset")
def _(op: str, folder: Path) -> Action:
    path = text(folder, "data.mdb")
    strings = {"types": [tf.string, tf.string], "typed": True}
    return dataset(op, filenames=[path], **strings)


@effect_case("SqlDataset", "ExperimentalSqlDataset")
def _(op: str, folder: Path) -> Action:
    source = str(folder / "data.db")
    with sqlite3.connect(source) as database:
        database.execute("CREATE TABLE t (x TEXT)")
    query = "INSERT INTO t VALUES ('a') RETURNING x"
    return dataset(op, driver_name="sqlite", data_source_name=source, query=query, typed=True)


@effect_case("MatchingFilesDataset", "ExperimentalMatchingFilesDataset")
def _(op: str, folder: Path) -> Action:
    text(folder)
    return dataset(op, patterns=[str(folder / "*.txt")])


def strings() -> Any:
    return raw.TensorSliceDataset(components=[tf.constant(["a", "b"])], output_shapes=[[]])


def cached(op: str, filename: str) -> Action:
    more = {"cache": raw.DummyMemoryCache()} if op.endswith("V2") else {}
    twice = dataset(op, input_dataset=strings(), filename=filename, typed=True, **more)
    return lambda: (twice(), twice())


@effect_case("CacheDataset", "CacheDatasetV2")
def _(op: str, folder: Path) -> Action:
    return cached(op, str(folder / "cache"))


@effect_case("CacheDataset", "CacheDatasetV2", harmless=True)
def _(op: str, folder: Path) -> Action:
    return cached(op, "")


@effect_case("SnapshotDataset")
def _(folder: Path) -> Action:
    twice = dataset("SnapshotDataset", input_dataset=strings(), path=str(folder / "snapshot"), typed=True)
    return lambda: (twice(), twice())


@effect_case("SnapshotDatasetV2")
def _(folder: Path) -> Action:
    path = str(folder / "snapshot")
    return lambda: [list(tf.data.Dataset.range(3).snapshot(path)) for _ in range(2)]


@effect_case("SaveDataset")
def _(folder: Path) -> Action:
    sharded = shard.get_concrete_function(tf.TensorSpec([], tf.string))
    sharded.add_to_graph()
    return lambda: raw.SaveDataset(
        input_dataset=strings(), path=str(folder / "saved"), shard_func_other_args=[], shard_func=sharded,
        use_shard_func=True,
    )  # fmt: skip


@effect_case("SaveDatasetV2")
def _(folder: Path) -> Action:
    return lambda: tf.data.Dataset.range(3).save(str(folder / "saved"))


@effect_case("LoadDataset")
def _(folder: Path) -> Action:
    path = str(folder / "saved")
    tf.data.Dataset.range(3).save(path)
    return lambda: list(tf.data.Dataset.load(path))


def saved(folder: Path) -> Path:
    tf.data.Dataset.from_tensor_slices(["a", "b"]).save(str(folder / "saved"))
    return next((folder / "saved").glob("*/*/*.snapshot"))


@effect_case("SnapshotDatasetReader")
def _(folder: Path) -> Action:
    return inner(
        "SnapshotDatasetReader", shard_dir=str(saved(folder).parent), start_index=SMALL, compression="SNAPPY",
        version=2, output_types=[tf.string], output_shapes=[[]],
    )  # fmt: skip


@effect_case("SnapshotChunkDataset")
def _(folder: Path) -> Action:
    return inner(
        "SnapshotChunkDataset", chunk_file=str(saved(folder)), compression="SNAPPY",
        output_types=[tf.string], output_shapes=[[]],
    )  # fmt: skip


@effect_case("ListSnapshotChunksDataset", waits=True)
def _(folder: Path) -> Action:
    (folder / "chunks").mkdir()
    text(folder / "chunks", "chunk_0_0_2")
    text(folder, "DONE", "")
    return inner(
        "ListSnapshotChunksDataset", snapshot_path=str(folder), output_types=[tf.string], output_shapes=[[]]
    )


@effect_case("DatasetToTFRecord", "ExperimentalDatasetToTFRecord")
def _(op: str, folder: Path) -> Action:
    write = getattr(raw, op)
    return lambda: write(input_dataset=strings(), filename=str(folder / "out.tfrecord"), compression_type="")


@effect_case("DistributedSave", waits=True)
def _(folder: Path) -> Action:
    return lambda: raw.DistributedSave(
        dataset=strings(), directory=str(folder), address=f"grpc://{NOBODY}", metadata=""
    )


@effect_case("RegisterDataset", "RegisterDatasetV2", waits=True)
def _(op: str, folder: Path) -> Action:
    return lambda: getattr(raw, op)(
        dataset=strings(), address=NOBODY, protocol="grpc", external_state_policy=0
    )


@effect_case(
    "DataServiceDataset", "DataServiceDatasetV2", "DataServiceDatasetV3", "DataServiceDatasetV4", waits=True
)
def _(op: str, folder: Path) -> Action:
    identity = tf.function(lambda x: x).get_concrete_function(tf.TensorSpec([], tf.variant))
    identity.add_to_graph()
    number = op[-1] if op[-1].isdigit() else "1"
    inputs: dict[str, Any] = {
        "dataset_id": "1" if number == "4" else tf.constant(1, tf.int64),
        "processing_mode": "parallel_epochs",
        "address": NOBODY, "protocol": "grpc", "job_name": "", "max_outstanding_requests": SMALL - 1,
        "iteration_counter": raw.DummyIterationCounter(), "task_refresh_interval_hint_ms": 10,
    }  # fmt: skip
    if number != "1":
        inputs |= {"consumer_index": SMALL - 1, "num_consumers": SMALL - 1}
    if number in "34":
        inputs["uncompress_fn"] = identity
    return dataset(op, **inputs, typed=True)
