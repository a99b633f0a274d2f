"""Inputs of `fuzz` for the runtime: graphs, images, sounds, Examples and text."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import tfport
from tfport.atlas.known_ops import known_ops
from tfport.graph.build import graph_to_def
from tfport.graph.model import TensorSpec
from tfport.graph.op_signature import OpTable
from tfport.graph.parse import parse_graph
from tfport.runtime.select_signature import select_signature

DECODERS = {
    "image": "y = DecodeImage(x) {channels=3, dtype=uint8, expand_animations=false}",
    "wav": "y, r = DecodeWav(x) {desired_channels=-1, desired_samples=-1}",
    "csv": 'y = DecodeCSV(x, d) {OUT_TYPE=[float32], field_delim=","}\n'
    "d = Const() {dtype=float32, value=float32(1,)[0]}",
    "compressed": 'y = DecodeCompressed(x) {compression_type="ZLIB"}',
    "tensor": "y = ParseTensor(x) {out_type=float32}",
}
EXAMPLES = """
    names = Const() {dtype=string, value=string(0,)[]}
    sparse = Const() {dtype=string, value=string(1,)["c0"]}
    dense = Const() {dtype=string, value=string(1,)["n0"]}
    ragged = Const() {dtype=string, value=string(0,)[]}
    default = Const() {dtype=float32, value=float32(1,)[0]}
    rows = Pack(x) {N=1, T=string, axis=0}
    y = ParseExampleV2(rows, names, sparse, dense, ragged, default) {TYPES}
""".replace(
    "TYPES",
    "Tdense=[float32], dense_shapes=[(1,)], num_sparse=1, ragged_split_types=[], ragged_value_types=[], "
    "sparse_types=[string]",
)


@functools.cache
def session_of(lines: str) -> tfport.Session:
    graph = parse_graph(f"x = Placeholder() {{dtype=string, shape=()}}\n{lines}", OpTable(known_ops()))
    return tfport.Session(tfport.load(graph_to_def(graph).SerializeToString()))


def decode(lines: str, data: bytes) -> None:
    """Pass one string through the ops of a graph."""
    text = np.empty((), object)
    text[()] = data
    session_of(lines).run("y:0", {"x:0": text})


def run_model(data: bytes) -> None:
    """Load a model from a file and run it on generated inputs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.pb")
        path.write_bytes(data)
        model = tfport.load(path)
        signature = select_signature(model)
        feeds = {s.tensors[0]: _sample(s) for s in signature.inputs.values() if len(s.tensors) == 1}
        fetches = [tensor for spec in signature.outputs.values() for tensor in spec.tensors]
        tfport.Session(model, threads=1).run(fetches, feeds)


def _sample(spec: TensorSpec) -> Any:
    shape = [min(2 if d is None else d, 8) for d in (spec.shape.dims or ())]
    if spec.dtype.name == "string":
        return np.full(shape, b"the", object)
    try:
        return np.ones(shape, spec.dtype.numpy)
    except KeyError:
        raise tfport.Error(f"no sample value for dtype {spec.dtype}") from None


def images() -> list[bytes]:
    import io

    from PIL import Image

    files = []
    picture = Image.fromarray(np.arange(300, dtype=np.uint32).astype(np.uint8).reshape(10, 10, 3))
    for kind in ("PNG", "JPEG", "GIF", "BMP"):
        out = io.BytesIO()
        picture.save(out, kind)
        files.append(out.getvalue())
    return files


def example() -> list[bytes]:
    """`{"c0": ["word"], "n0": [0.5]}` as an Example."""
    word = b"\x0a\x06\x0a\x04word"
    number = b"\x12\x06\x0a\x04\x00\x00\x00\x3f"
    entries = b"".join(
        b"\x0a" + bytes([len(e)]) + e
        for e in (
            b"\x0a\x02c0\x12" + bytes([len(word)]) + word,
            b"\x0a\x02n0\x12" + bytes([len(number)]) + number,
        )
    )
    return [b"\x0a" + bytes([len(entries)]) + entries]
