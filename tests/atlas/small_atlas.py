"""A small atlas: a few builds with a few ops, so that tests do not change when the real one grows."""

import json
import sqlite3
import zlib
from pathlib import Path

from tfport.atlas.atlas import Atlas
from tfport.atlas.target_file import SCHEMA
from tfport.formats.proto.graph_pb2 import DT_FLOAT, OpDef
from tfport.formats.proto.kernel_pb2 import KernelDef, KernelList

X86, ARM = "x86_64", "aarch64"
TENSORFLOW = (
    "1.4.1", "1.12.0", "1.12.3", "2.4.3", "2.4.4", "2.5.3", "2.8.0", "2.8.3", "2.8.4", "2.9.0", "2.11.0",
    "2.12.1", "2.15.0", "2.20.0",
)  # fmt: skip
BUILDS = [
    *(("tensorflow", version, X86, {}) for version in TENSORFLOW),
    ("tensorflow", "2.20.0", ARM, {}),
    ("tensorflow-gpu", "1.4.1", X86, {}),
    ("tensorflow-gpu", "1.12.3", X86, {}),
    ("tensorflow-text", "2.6.0", "manylinux1_x86_64", {"requires_tensorflow": ">=2.6.0,<2.7"}),
    ("tensorflow-text", "2.8.2", "manylinux2010_x86_64", {"requires_tensorflow": ">=2.8.0,<2.9"}),
    ("tensorflow-text", "2.12.1", "manylinux2014_x86_64", {"requires_tensorflow": ">=2.12.0,<2.13"}),
    ("tensorflow-decision-forests", "1.2.0", "manylinux2014_x86_64", {"requires_tensorflow": "~=2.11.0"}),
]


def small_atlas(folder: Path) -> Atlas:
    path = folder / "atlas.sqlite"
    database = sqlite3.connect(path)
    database.executescript(SCHEMA)
    for number, (package, version, platform, facts) in enumerate(BUILDS):
        wheel = f"{package.replace('-', '_')}-{version}-cp38-cp38-manylinux2010_{platform}.whl"
        row = (number, package, version, platform, wheel, "0" * 64, json.dumps(facts))
        database.execute("INSERT INTO build VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        for op, provider, devices in ops_of(package, version):
            add(database, number, op, provider, devices)
    database.commit()
    database.close()
    return Atlas(path)


def ops_of(package: str, version: str):
    """Return each op with its library and the devices of its kernels."""
    if package == "tensorflow-text":
        return [("WordpieceTokenizeWithOffsets", "tensorflow_text/ops.so", ["CPU"])]
    if package == "tensorflow-decision-forests":
        return [("SimpleMLInferenceOp", "inference.so", ["CPU"])]
    gpu = ["CPU", "GPU"] if package == "tensorflow-gpu" or version.startswith("2") else ["CPU"]
    contrib = [("Resampler", "contrib/resampler/_resampler_ops.so", ["CPU"]),
               ("GRUBlockCell", "contrib/rnn/python/ops/_gru_ops.so", ["CPU"])]  # fmt: skip
    stock = [(op, "", gpu) for op in ("Const", "MatMul", "NoOp", "HashTableV2", "_Arg", "_Retval")]
    return stock + (contrib if version.startswith("1") else [])


def add(database: sqlite3.Connection, number: int, op: str, provider: str, devices: list[str]) -> None:
    definition = OpDef(name=op, attr=[OpDef.AttrDef(name="T", type="type")])
    kernels = KernelList(kernel=[kernel(op, device) for device in devices])
    bits = (1 << number).to_bytes(number // 8 + 1, "little")
    database.execute(
        "INSERT INTO op VALUES (?, ?, ?, ?)", (op, provider, definition.SerializeToString(), bits)
    )
    packed = zlib.compress(kernels.SerializeToString())
    database.execute("INSERT INTO kernels VALUES (?, ?, ?, ?)", (op, provider, packed, bits))


def kernel(op: str, device: str) -> KernelDef:
    made = KernelDef(op=op, device_type=device)
    constraint = made.constraint.add(name="T")
    constraint.allowed_values.list.type.append(DT_FLOAT)
    return made
