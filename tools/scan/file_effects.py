"""Ops that read, write, delete or list files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf
from effect_case import Action, effect_case, graph, node, raw, records, text
from google.protobuf import descriptor_pb2


@effect_case("ReadFile")
def _(folder: Path) -> Action:
    path = text(folder)
    return lambda: raw.ReadFile(filename=path)


@effect_case("WriteFile")
def _(folder: Path) -> Action:
    return lambda: raw.WriteFile(filename=str(folder / "out.txt"), contents="x")


@effect_case("MatchingFiles")
def _(folder: Path) -> Action:
    text(folder)
    return lambda: raw.MatchingFiles(pattern=str(folder / "*.txt"))


def saved(folder: Path) -> str:
    raw.SaveV2(
        prefix=str(folder / "ckpt"), tensor_names=["v"], shape_and_slices=[""], tensors=[tf.ones([2, 2])]
    )
    return str(folder / "ckpt")


def saved_v1(folder: Path) -> str:
    raw.Save(filename=str(folder / "old.ckpt"), tensor_names=["v"], data=[tf.ones([2, 2])])
    return str(folder / "old.ckpt")


@effect_case("SaveV2")
def _(folder: Path) -> Action:
    return lambda: saved(folder)


@effect_case("Save")
def _(folder: Path) -> Action:
    return lambda: saved_v1(folder)


@effect_case("SaveSlices")
def _(folder: Path) -> Action:
    return lambda: raw.SaveSlices(
        filename=str(folder / "s"), tensor_names=["v"], shapes_and_slices=[""], data=[tf.ones([2])]
    )


@effect_case("RestoreV2")
def _(folder: Path) -> Action:
    prefix = saved(folder)
    return lambda: raw.RestoreV2(
        prefix=prefix, tensor_names=["v"], shape_and_slices=[""], dtypes=[tf.float32]
    )


@effect_case("Restore")
def _(folder: Path) -> Action:
    path = saved_v1(folder)
    return lambda: raw.Restore(file_pattern=path, tensor_name="v", dt=tf.float32)


@effect_case("RestoreSlice")
def _(folder: Path) -> Action:
    path = saved_v1(folder)
    return lambda: raw.RestoreSlice(
        file_pattern=path, tensor_name="v", shape_and_slice="2 2 0,1:0,2", dt=tf.float32
    )


@effect_case("RestoreV2")
def _(folder: Path) -> Action:
    pattern = saved_v1(folder)[:-1] + "*"
    return lambda: raw.RestoreV2(
        prefix=pattern, tensor_names=["v"], shape_and_slices=[""], dtypes=[tf.float32]
    )


@effect_case("Restore")
def _(folder: Path) -> Action:
    pattern = saved_v1(folder)[:-1] + "*"
    return lambda: raw.Restore(file_pattern=pattern, tensor_name="v", dt=tf.float32)


@effect_case("RestoreSlice")
def _(folder: Path) -> Action:
    pattern = saved_v1(folder)[:-1] + "*"
    return lambda: raw.RestoreSlice(
        file_pattern=pattern, tensor_name="v", shape_and_slice="2 2 0,1:0,2", dt=tf.float32
    )


@effect_case("MergeV2Checkpoints")
def _(folder: Path) -> Action:
    prefix = saved(folder)
    return lambda: raw.MergeV2Checkpoints(
        checkpoint_prefixes=[prefix], destination_prefix=str(folder / "merged"), delete_old_dirs=True
    )


@effect_case("LoadAndRemapMatrix")
def _(folder: Path) -> Action:
    prefix = saved(folder)
    return lambda: raw.LoadAndRemapMatrix(
        ckpt_path=prefix, old_tensor_name="v", row_remapping=tf.constant([0, 1], tf.int64),
        col_remapping=tf.constant([], tf.int64), initializing_values=tf.constant([], tf.float32),
        num_rows=2, num_cols=2,
    )  # fmt: skip


@effect_case("GenerateVocabRemapping")
def _(folder: Path) -> Action:
    new, old = text(folder, "new"), text(folder, "old")
    return lambda: raw.GenerateVocabRemapping(
        new_vocab_file=new, old_vocab_file=old, new_vocab_offset=0, num_new_vocab=2
    )


@effect_case("ImmutableConst")
def _(folder: Path) -> Action:
    path = text(folder, content="12345678" * 8)
    return graph(lambda: raw.ImmutableConst(dtype=tf.uint8, shape=[64], memory_region_name=path))


@effect_case("InitializeTableFromTextFileV2")
def _(folder: Path) -> Action:
    path = text(folder)
    table = raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    return lambda: raw.InitializeTableFromTextFileV2(
        table_handle=table, filename=path, key_index=-2, value_index=-1
    )


@effect_case("InitializeTableFromTextFile")
def _(folder: Path) -> Action:
    path = text(folder)

    def build() -> Any:
        table = raw.HashTable(key_dtype=tf.string, value_dtype=tf.int64)
        return raw.InitializeTableFromTextFile(
            table_handle=table, filename=path, key_index=-2, value_index=-1
        )

    return graph(build)


def fixed_unigram(**attrs: Any) -> Action:
    return graph(
        lambda: raw.FixedUnigramCandidateSampler(
            true_classes=tf.constant([[0]], tf.int64),
            num_true=1,
            num_sampled=1,
            unique=True,
            range_max=2,
            seed=1,
            seed2=2,
            **attrs,
        )
    )


@effect_case("FixedUnigramCandidateSampler")
def _(folder: Path) -> Action:
    return fixed_unigram(vocab_file=text(folder, content="a,1\nb,2\n"))


@effect_case("FixedUnigramCandidateSampler", harmless=True)
def _(folder: Path) -> Action:
    return fixed_unigram(unigrams=[1.0, 2.0])


@effect_case("RecordInput")
def _(folder: Path) -> Action:
    path = records(folder)[:-1] + "*"
    return graph(lambda: raw.RecordInput(file_pattern=path, batch_size=1, file_parallelism=1))


def descriptors(folder: Path) -> str:
    files = descriptor_pb2.FileDescriptorSet()
    file = files.file.add(name="m.proto", package="m")
    file.message_type.add(name="M").field.add(name="f", number=1, type=5, label=1)
    (folder / "m.bin").write_bytes(files.SerializeToString())
    return str(folder / "m.bin")


def decode_proto(source: str, message: str, field: str) -> Action:
    return graph(
        lambda: (
            raw.DecodeProtoV2(
                bytes=tf.constant([b""]),
                message_type=message,
                field_names=[field],
                output_types=[tf.int32],
                descriptor_source=source,
            ).values
        )
    )


def encode_proto(source: str, message: str, field: str) -> Action:
    return graph(
        lambda: raw.EncodeProto(
            sizes=tf.constant([[1]]),
            values=[tf.constant([[3]])],
            field_names=[field],
            message_type=message,
            descriptor_source=source,
        )
    )


@effect_case("DecodeProtoV2")
def _(folder: Path) -> Action:
    return decode_proto(descriptors(folder), "m.M", "f")


@effect_case("EncodeProto")
def _(folder: Path) -> Action:
    return encode_proto(descriptors(folder), "m.M", "f")


@effect_case("DecodeProtoV2", harmless=True)
def _(folder: Path) -> Action:
    return decode_proto("local://", "tensorflow.VersionDef", "producer")


@effect_case("EncodeProto", harmless=True)
def _(folder: Path) -> Action:
    return encode_proto("local://", "tensorflow.VersionDef", "producer")


@effect_case("PrintV2")
def _(folder: Path) -> Action:
    return lambda: raw.PrintV2(input="x", output_stream=f"file://{folder}/out.txt")


@effect_case("PrintV2", harmless=True)
def _(folder: Path) -> Action:
    return lambda: raw.PrintV2(input="", end="", output_stream="stderr")


@effect_case("DumpTensor")
def _(folder: Path) -> Action:
    return graph(
        lambda: node(
            "DumpTensor",
            [tf.ones([2])],
            [],
            log_dir_path=str(folder),
            file_name="t.pb",
            T=tf.float32,
            enabled=True,
            func_name="f",
            node_name="n",
        )
    )


@effect_case("CalibrationStatisticsSaver")
def _(folder: Path) -> Action:
    def build() -> Any:
        inputs = [tf.constant(0.0), tf.constant(1.0), tf.constant([0], tf.int64)]
        types = [tf.float32, tf.float32, tf.int64]
        return node(
            "CalibrationStatisticsSaver",
            inputs,
            [],
            Tin=types,
            ids=["a"],
            calibration_methods=[1],
            output_file_path=str(folder / "s.pb"),
        )

    return graph(build)
