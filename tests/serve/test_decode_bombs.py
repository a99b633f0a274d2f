"""Small requests that would become large tensors: refused before the memory is taken.

The highest resident memory of a real server is measured around each of them.
"""

from __future__ import annotations

import base64
import functools
import gzip
import io
import json
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import cramjam
import pytest
from PIL import Image
from tests.recorded_models import graph
from tests.serve.models.exports import export
from tests.serve.process import Command, command

from tfport.formats.proto import graph_pb2, serving_pb2
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.build import graph_to_def
from tfport.runtime.ops.image.png import SIGNATURE, chunk

MOST = 16 * 2**20
HUGE = 128 * 2**20
"""What each of them would take at least."""
ROOM = 24 * 2**20
"""Memory for the request itself, its answer, and modules that are imported for it."""
MOST_BODY = 8 * 2**20
ONE_THREAD = ("--tensorflow_inter_op_parallelism=1", "--tensorflow_intra_op_parallelism=1")
SIDE = 12_000
"""An image of SIDE x SIDE pixels has 144 MB per channel."""

OPS = {  # an op over a string `s`, strings `t` and numbers `n`
    "DecodePng": "DecodePng(s) {channels=0, dtype=uint8}",
    "DecodeJpeg": "DecodeJpeg(s)",
    "DecodeGif": "DecodeGif(s)",
    "DecodeBmp": "DecodeBmp(s)",
    "DecodeImage": "DecodeImage(s) {channels=0, dtype=uint8, expand_animations=true}",
    "DecodeFloatImage": "DecodeImage(s) {channels=0, dtype=float32, expand_animations=false}",
    "Gzip": 'DecodeCompressed(t) {compression_type="GZIP"}',
    "Zlib": 'DecodeCompressed(t) {compression_type="ZLIB"}',
    "Zstd": 'DecodeCompressed(t) {compression_type="ZSTD"}',
    "DecodePaddedRaw": "DecodePaddedRaw(t, size) {out_type=uint8}",
    "ParseTensor": "ParseTensor(s) {out_type=float32}",
    "ParseExample": "ParseExample(t, empty, key, default) "
    "{Nsparse=0, Ndense=1, sparse_types=[], Tdense=[float32], dense_shapes=[(?)]}",
    "StringJoin": 'StringJoin(s, t) {N=2, separator=""}',
    "Fill": "Fill(n, f) {T=float32, index_type=int32}",
    "FillStrings": "Fill(n, s) {T=string, index_type=int32}",
    "Tile": "Tile(row, n) {T=float32, Tmultiples=int32}",
    "TileStrings": "Tile(t, n) {T=string, Tmultiples=int32}",
    "BroadcastTo": "BroadcastTo(f, n) {T=float32, Tidx=int32}",
    "BroadcastStrings": "BroadcastTo(s, n) {T=string, Tidx=int32}",
    "Range": "Range(zero, size, one) {Tidx=int32}",
}
GRAPH = """
    s = Placeholder() {dtype=string, shape=()}
    t = Placeholder() {dtype=string, shape=(?)}
    n = Placeholder() {dtype=int32, shape=(1)}
    zero = Const() {dtype=int32, value=int32()[0]}
    one = Const() {dtype=int32, value=int32()[1]}
    f = Const() {dtype=float32, value=float32()[1]}
    row = Const() {dtype=float32, value=float32(1)[1]}
    empty = Const() {dtype=string, value=string(0)[]}
    key = Const() {dtype=string, value=string()["k"]}
    default = Const() {dtype=float32, value=float32()[1]}
    size = Reshape(n, shape) {T=int32, Tshape=int32}
    shape = Const() {dtype=int32, value=int32(0)[]}
"""
"""Whatever an op returns, a signature answers its number of elements."""


def model_of(ops: dict[str, str]) -> bytes:
    lines = [GRAPH]
    for name, call in ops.items():
        dtype = {"StringJoin": "string", "Range": "int32", "DecodeFloatImage": "float32"}.get(name, "")
        dtype = dtype or ("uint8" if name.startswith("Decode") else "float32")
        dtype = "string" if name.endswith("Strings") or name in ("Gzip", "Zlib", "Zstd") else dtype
        lines.append(f"    out_{name} = {call}")
        lines.append(f"    {name} = Size(out_{name}) {{T={dtype}, out_type=int32}}")
    program = graph("\n".join(lines))
    meta = pb.MetaGraphDef(graph_def=graph_to_def(program))
    meta.meta_info_def.tags.append("serve")
    for name, call in ops.items():
        signature = meta.signature_def[name]
        signature.method_name = "tensorflow/serving/predict"
        words = re.findall(r"\w+", call.partition("{")[0])
        used = [key for key in "stn" if key in words or (key == "n" and "size" in words)]
        for into, tensors in ((signature.inputs, used), (signature.outputs, [name])):
            for tensor in tensors:
                value = program.value(f"{tensor}:0")
                into[tensor].name, into[tensor].dtype = f"{tensor}:0", value.dtype.number
                into[tensor].tensor_shape.CopyFrom(value.shape.to_proto())
    return pb.SavedModel(saved_model_schema_version=1, meta_graphs=[meta]).SerializeToString()


# -- files that become large -------------------------------------------------------------------------


@functools.cache
def png(side: int = SIDE, color: int = 0, depth: int = 8, interlaced: int = 0) -> bytes:
    packer = zlib.compressobj(1)
    rows = [packer.compress(bytes(1 + side)) for _ in range(side)]
    head = struct.pack(">IIBBBBB", side, side, depth, color, 0, 0, interlaced)
    data = b"".join(rows) + packer.flush()
    return SIGNATURE + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def image(kind: str, side: int, mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    Image.new(mode, (side, side)).save(out, kind, **({"lossless": True} if kind == "WEBP" else {}))
    return out.getvalue()


def jpeg() -> bytes:
    """A small image whose header says that it is large."""
    data = bytearray(image("JPEG", 64))
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = struct.pack(">HH", SIDE, SIDE)
    return bytes(data)


def gif(frames: int = 150, side: int = 600) -> bytes:
    data = image("GIF", side, "P")
    start = data.index(b"\x2c", 13 + 3 * (2 << (data[10] & 7)))
    return data[:start] + data[start:-1] * frames + b"\x3b"


def webp() -> bytes:
    return image("WEBP", 7_000)


def gzipped(size: int = HUGE) -> bytes:
    return gzip.compress(bytes(size), 1)


def compact_tensor() -> bytes:
    tensor = graph_pb2.TensorProto(dtype=graph_pb2.DT_FLOAT, float_val=[1])
    tensor.tensor_shape.dim.add(size=HUGE // 4)
    return tensor.SerializeToString()


def long_example() -> bytes:
    example = serving_pb2.Example()
    example.features.feature["k"].float_list.value.extend([1.0] * 100_000)
    return example.SerializeToString()


def b64(data: bytes) -> dict[str, str]:
    return {"b64": base64.b64encode(data).decode()}


BOMBS: dict[str, tuple[str, Any]] = {
    "png": ("DecodePng", lambda: {"s": b64(png())}),
    "interlaced png": ("DecodePng", lambda: {"s": b64(png(interlaced=1))}),
    "png for DecodeImage": ("DecodeImage", lambda: {"s": b64(png())}),
    "png that becomes float32": ("DecodeFloatImage", lambda: {"s": b64(png(side=3500))}),
    "jpeg": ("DecodeJpeg", lambda: {"s": b64(jpeg())}),
    "gif with many frames": ("DecodeGif", lambda: {"s": b64(gif())}),
    "gif for DecodeImage": ("DecodeImage", lambda: {"s": b64(gif())}),
    "webp": ("DecodeImage", lambda: {"s": b64(webp())}),
    "gzip": ("Gzip", lambda: {"t": [b64(gzipped())]}),
    "gzip, many members": ("Gzip", lambda: {"t": [b64(gzipped(HUGE // 40) * 40)]}),
    "gzip, many strings": ("Gzip", lambda: {"t": [b64(gzipped(HUGE // 40))] * 40}),
    "zlib": ("Zlib", lambda: {"t": [b64(zlib.compress(bytes(HUGE), 1))]}),
    "zstd": ("Zstd", lambda: {"t": [b64(bytes(cramjam.zstd.compress(bytes(HUGE))))]}),
    "padded bytes": ("DecodePaddedRaw", lambda: {"t": [b64(b"x")] * 4, "n": [HUGE // 4]}),
    "a tensor of one value": ("ParseTensor", lambda: {"s": b64(compact_tensor())}),
    "examples that are padded": ("ParseExample", lambda: {"t": [b64(long_example()), *[b64(b"")] * 400]}),
    "strings that are joined": ("StringJoin", lambda: {"s": b64(bytes(2**20)), "t": [b64(b"x")] * 128}),
    "Fill": ("Fill", lambda: {"n": [HUGE]}),
    "Fill, strings": ("FillStrings", lambda: {"s": b64(b"x"), "n": [HUGE // 8]}),
    "Tile": ("Tile", lambda: {"n": [HUGE]}),
    "Tile, strings": ("TileStrings", lambda: {"t": [b64(b"x")], "n": [HUGE // 8]}),
    "BroadcastTo": ("BroadcastTo", lambda: {"n": [HUGE]}),
    "BroadcastTo, strings": ("BroadcastStrings", lambda: {"s": b64(b"x"), "n": [HUGE // 8]}),
    "Range": ("Range", lambda: {"n": [HUGE]}),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bombs")
    export(folder / "m", 1, model_of(OPS))
    flags = (f"--max_request_memory_bytes={MOST}", f"--rest_api_max_body_bytes={MOST_BODY}")
    with command(folder / "m", *ONE_THREAD, *flags) as running:
        small = {"Gzip": {"t": [b64(gzipped(10))]}, "DecodePng": {"s": b64(png(8))}, "Range": {"n": [3]}}
        small |= {"DecodeImage": {"s": b64(image("WEBP", 8))}, "DecodeGif": {"s": b64(gif(2, 8))}}
        small |= {"StringJoin": {"s": b64(b"x"), "t": [b64(b"x")]}, "Zstd": {"t": [b64(b"")]}}
        for signature, inputs in small.items():  # imports what it needs
            status, body = ask(running, signature, inputs)
            assert status == 200 or signature == "Zstd", body
        yield running


def ask(server: Command, signature: str, inputs: dict[str, Any]) -> tuple[int, Any]:
    return server.ask("POST", "/v1/models/m:predict", {"signature_name": signature, "inputs": inputs})


def used_by(server: Command, request: Any) -> tuple[int, tuple[int, Any]]:
    """Return by how much the highest resident memory rises above what is used before, and the answer."""
    folder = Path(f"/proc/{server.process.pid}")
    (folder / "clear_refs").write_text("5")  # the highest is what is used now
    before = peak(folder)
    answer = request()
    return peak(folder) - before, answer


def peak(folder: Path) -> int:
    line = next(line for line in (folder / "status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_it_takes_memory(server, name):
    signature, inputs = BOMBS[name][0], BOMBS[name][1]()
    assert len(json.dumps(inputs)) < MOST_BODY
    used, (status, body) = used_by(server, lambda: ask(server, signature, inputs))
    assert status == 429, body
    assert f"`out_{signature}`" in body["error"]
    assert f"the limit is {MOST:,} bytes per run" in body["error"] or "cannot allocate" in body["error"]
    assert used < MOST + ROOM


BODIES = {
    "compressed numbers": lambda: gzip.compress(b'{"inputs": {"n": [' + b"1," * (HUGE // 2) + b"1]}}", 1),
    "compressed spaces": lambda: gzip.compress(b'{"inputs": ' + b" " * HUGE, 1),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_compressed_body_is_refused_before_it_is_read(server, name):
    sent = BODIES[name]()
    headers = {"Content-Encoding": "gzip"}
    used, (status, body) = used_by(
        server, lambda: server.ask("POST", "/v1/models/m:predict", sent, **headers)
    )
    assert (status, body) == (413, {"error": f"The body is larger than {MOST_BODY} bytes"})
    assert used < MOST_BODY + ROOM


def test_nested_lists_are_refused(server):
    sent = b'{"inputs": {"n": ' + b"[" * (MOST_BODY // 2) + b"]" * (MOST_BODY // 4)
    used, (status, _) = used_by(server, lambda: server.ask("POST", "/v1/models/m:predict", sent))
    assert status == 400
    assert used < 2 * MOST_BODY + ROOM
