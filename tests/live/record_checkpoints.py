"""Write checkpoints with TensorFlow, and record what it reads back from them.

    python -m tests.live.record_checkpoints       from the root of the repository

writes each to `tests/checkpoints/NAME/ckpt`, and `tests/checkpoints/expected.json` with the type,
shape and elements of every tensor, so that the everyday suite has real bytes without TensorFlow.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import dtypes as tf_dtypes

OUT = Path(__file__).parent.parent / "checkpoints"
v1 = tf.compat.v1

PLAIN = [
    "float16", "float32", "float64", "bfloat16", "complex64", "complex128", "bool",
    "int2", "int4", "int8", "int16", "int32", "int64",
    "uint2", "uint4", "uint8", "uint16", "uint32", "uint64", "float4_e2m1fn",
    "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz",
]  # fmt: skip
QUANTIZED = {"qint8": "int8", "quint8": "uint8", "qint32": "int32", "qint16": "int16", "quint16": "uint16"}
# Types that the V1 writer supports: "Saving data type … not yet supported" for the others.
IN_V1 = [
    "float16", "float32", "float64", "complex64", "complex128", "bool", "int8", "int16", "int32", "int64",
    "uint8", "uint16", "qint8", "quint8", "qint32", "string", "scalar_float32", "scalar_string",
    "empty_float32", "empty_string",
]  # fmt: skip


def of_type(name: str) -> tf.Tensor:
    """Return a small tensor of a type, with negative numbers if it has any."""
    if name in QUANTIZED:
        return tf.bitcast(of_type(QUANTIZED[name]), getattr(tf_dtypes, name))
    kind = getattr(tf_dtypes, name).as_numpy_dtype
    signed = not name.startswith("u") and name != "bool"
    return tf.constant(np.array([[0, 1], [-1, -2]] if signed else [[0, 1], [2, 3]]).astype(kind))


def every_type() -> dict[str, tf.Tensor]:
    """Return a tensor of each type, and shapes and strings that are easy to get wrong."""
    return {
        **{name: of_type(name) for name in [*PLAIN, *QUANTIZED]},
        "string": tf.constant([b"", b"a\0b", "é".encode(), b"x" * 127, b"y" * 128, b"z" * 300]),
        "scalar_float32": tf.constant(1.5),
        "scalar_string": tf.constant(b"one"),
        "empty_float32": tf.zeros([0, 3]),
        "empty_string": tf.constant([], tf.string),
    }


def save_v2(prefix: str, tensors: dict[str, tf.Tensor]) -> None:
    whole = [""] * len(tensors)
    tf.raw_ops.SaveV2(
        prefix=prefix, tensor_names=list(tensors), shape_and_slices=whole, tensors=list(tensors.values())
    )


def v2_types(prefix: str) -> None:
    save_v2(prefix, every_type())


def v1_types(prefix: str) -> None:
    tensors = every_type()
    tf.raw_ops.Save(filename=prefix, tensor_names=IN_V1, data=[tensors[name] for name in IN_V1])


def v2_object(prefix: str) -> None:
    """Write like Keras and SavedModels: names of an object graph, and that graph as a string."""
    layer = tf.Module()
    layer.kernel = tf.Variable(tf.reshape(tf.range(6.0), [2, 3]))
    layer.bias = tf.Variable([0.5, -0.5, 0.25], dtype=tf.bfloat16)
    tf.train.Checkpoint(dense=layer, step=tf.Variable(7, dtype=tf.int64)).write(prefix)


def save_by_session(prefix: str, version: int, sharded: bool) -> None:
    """Save variables on two devices, one of them in three slices and one in two."""
    with tf.Graph().as_default(), v1.Session(config=v1.ConfigProto(device_count={"CPU": 2})) as session:
        devices = cycle(["/cpu:0", "/cpu:1"])
        with v1.device(lambda op: next(devices) if op.type == "VarHandleOp" else op.device):
            start = tf.reshape(tf.range(20.0), [10, 2])
            v1.get_variable("plain", initializer=start)
            v1.get_variable("step", initializer=tf.constant(3, tf.int64))
            v1.get_variable("rows", initializer=start, partitioner=v1.fixed_size_partitioner(3))
            v1.get_variable(
                "columns",
                initializer=tf.reshape(tf.range(12, dtype=tf.int32), [2, 6]),
                partitioner=v1.fixed_size_partitioner(2, axis=1),
            )
        session.run(v1.global_variables_initializer())
        saver = v1.train.Saver(sharded=sharded, write_version=version)
        saver.save(session, prefix, write_meta_graph=False, write_state=False)


def v2_partitioned(prefix: str) -> None:
    save_by_session(prefix, v1.train.SaverDef.V2, sharded=False)


def v2_sharded(prefix: str) -> None:
    save_by_session(prefix, v1.train.SaverDef.V2, sharded=True)


def v1_partitioned(prefix: str) -> None:
    save_by_session(prefix, v1.train.SaverDef.V1, sharded=False)


def v1_sharded(prefix: str) -> None:
    save_by_session(prefix, v1.train.SaverDef.V1, sharded=True)


def v2_grid(prefix: str) -> None:
    """Write four slices that split both axes, and a variant, which has no array."""
    whole = np.arange(30, dtype=np.float32).reshape(5, 6)
    cuts = [(r, h, c, w) for r, h in ((0, 2), (2, 3)) for c, w in ((0, 4), (4, 2))]
    tf.raw_ops.SaveV2(
        prefix=prefix,
        tensor_names=["grid"] * 4 + ["list"],
        shape_and_slices=[f"5 6 {r},{h}:{c},{w}" for r, h, c, w in cuts] + [""],
        tensors=[tf.constant(whole[r : r + h, c : c + w]) for r, h, c, w in cuts]
        + [tf.raw_ops.EmptyTensorList(element_shape=[2], max_num_elements=3, element_dtype=tf.float32)],
    )


WRITERS: list[Callable[[str], None]] = [
    v2_types, v2_object, v2_partitioned, v2_sharded, v2_grid, v1_types, v1_partitioned, v1_sharded,
]  # fmt: skip


def pattern(prefix: str) -> str:
    """Return the name for TensorFlow: it finds the shards of a V1 checkpoint only by a pattern."""
    return prefix if Path(prefix + ".index").exists() or Path(prefix).exists() else prefix + "-?????-of-?????"


def listing(prefix: str) -> dict[str, tuple[tf.DType, list[int]]]:
    """Return the type and shape of each tensor, as TensorFlow lists them."""
    reader = v1.train.NewCheckpointReader(pattern(prefix))
    types, shapes = reader.get_variable_to_dtype_map(), reader.get_variable_to_shape_map()
    return {name: (types[name], shapes[name]) for name in sorted(shapes)}


def restored(prefix: str, name: str, dtype: tf.DType, part: str = "") -> np.ndarray[Any, Any]:
    """Return a tensor or a part of one (`10 2 0,4:-`), as TensorFlow restores it."""
    read = tf.raw_ops.RestoreV2(
        prefix=pattern(prefix), tensor_names=[name], shape_and_slices=[part], dtypes=[dtype]
    )[0]
    return plain(read)


def plain(tensor: tf.Tensor) -> np.ndarray[Any, Any]:
    """Return an array in tfport's form: strings are objects, quantized numbers are plain integers."""
    if tensor.dtype.name in QUANTIZED:
        tensor = tf.bitcast(tensor, QUANTIZED[tensor.dtype.name])
    return np.array(tensor.numpy(), tensor.dtype.as_numpy_dtype)


def described(prefix: str) -> dict[str, Any]:
    out = {}
    for name, (dtype, shape) in listing(prefix).items():
        elements = None
        if dtype != tf.variant and not name.startswith("_CHECKPOINTABLE"):
            elements = [str(x) for x in restored(prefix, name, dtype).ravel()]
        out[name] = {"dtype": dtype.as_datatype_enum, "shape": shape, "elements": elements}
    return out


def main() -> None:
    expected: dict[str, Any] = {"tensorflow": tf.__version__}
    for write in WRITERS:
        folder = OUT / write.__name__
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write(str(folder / "ckpt"))
        expected[write.__name__] = described(str(folder / "ckpt"))
    (OUT / "expected.json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
