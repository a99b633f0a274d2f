"""Read the weights of a TensorFlow.js model: listed in the manifest, stored in shards.

The weights of a group are concatenated and split into shards at any byte. Quantized
weights are dequantized as TensorFlow.js does it.
"""

from __future__ import annotations

import posixpath
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from tfport.errors import UnreadableFile
from tfport.formats.checkpoint.entry import ITEM_SIZE, CheckpointEntry, missing, shown
from tfport.formats.encoding.wire import count
from tfport.formats.files import Files
from tfport.formats.proto import graph_pb2 as pb
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

DTYPES = {
    "float32": pb.DT_FLOAT, "int32": pb.DT_INT32, "bool": pb.DT_BOOL, "string": pb.DT_STRING,
    "complex64": pb.DT_COMPLEX64, "uint8": pb.DT_UINT8, "int8": pb.DT_INT8, "uint16": pb.DT_UINT16,
    "int16": pb.DT_INT16, "float16": pb.DT_HALF, "float64": pb.DT_DOUBLE, "int64": pb.DT_INT64,
}  # fmt: skip
STORED_AS = {
    "float16": "float32", "float64": "float32", "bfloat16": "float32", "complex128": "complex64",
    "int8": "int32", "uint8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int32",
    "int64": "int32", "uint64": "int32",
}  # fmt: skip
"""The types that TensorFlow.js does not have, and those that it computes with instead."""
QUANTIZED = {"uint8": pb.DT_UINT8, "uint16": pb.DT_UINT16, "float16": pb.DT_HALF}
MOST_BYTES = 2**48
MOST_AXES = 32
LENGTH_BYTES = 4


@dataclass(frozen=True, slots=True)
class Weight:
    """An entry of the manifest."""

    entry: CheckpointEntry
    stored: int
    """The DataType in the file; it differs from the type of the entry if the weight is quantized."""
    scale: float = 1.0
    minimum: float = 0.0


class WeightGroup:
    """Weights that are stored one after another, in a sequence of files."""

    def __init__(self, files: Files, paths: list[str], weights: list[Weight], label: str) -> None:
        self.files = files
        self.paths = paths
        self.weights = weights
        self.label = label
        self._opened: dict[str, memoryview] = {}

    @cached_property
    def starts(self) -> list[int]:
        """The offset of each shard, and the end of the last one."""
        starts = [0]
        for path in self.paths:
            if not self.files.has(path):
                raise UnreadableFile(
                    f"{self.files.label(path)}: missing; {self.label} expects {self.names()} in it"
                )
            starts.append(starts[-1] + self.files.size(path))
        return starts

    def names(self) -> str:
        if not self.weights:
            return "no weights"
        first, last = (shown(self.weights[at].entry.name) for at in (0, -1))
        return f"the weight {first}" if len(self.weights) == 1 else f"the weights from {first} to {last}"

    @cached_property
    def spans(self) -> dict[str, tuple[int, int]]:
        """The start and end of each weight. The length of strings is only in the data."""
        spans: dict[str, tuple[int, int]] = {}
        at = 0
        for weight in self.weights:
            size = weight.entry.nbytes
            end = at + size if size is not None else self.end_of_strings(weight, at)
            self.check(weight, end)
            spans[weight.entry.name] = (at, end)
            at = end
        if at < self.starts[-1]:
            last, more = self.files.label(self.paths[-1]), count(self.starts[-1] - at)
            raise UnreadableFile(
                f"{last}: ends {more} after the last weight "
                f"that {self.label} lists; the files belong to another model, or one of them was replaced"
            )
        return spans

    def check(self, weight: Weight, end: int) -> None:
        if end > self.starts[-1]:
            last = self.files.label(self.paths[-1]) if self.paths else self.label
            short = count(end - self.starts[-1])
            raise UnreadableFile(
                f"{last}: ends {short} before the weight {shown(weight.entry.name)} does; it was cut short"
            )

    def end_of_strings(self, weight: Weight, at: int) -> int:
        for _ in range(prod(weight.entry.shape)):
            self.check(weight, at + LENGTH_BYTES)
            at += LENGTH_BYTES + int.from_bytes(self.between(at, at + LENGTH_BYTES), "little")
            self.check(weight, at)
        return at

    def between(self, start: int, end: int) -> memoryview | bytes:
        """The bytes from `start` to `end`; not copied if they are in one shard."""
        parts = []
        for path, begins, ends in zip(self.paths, self.starts, self.starts[1:], strict=False):
            if begins < end and start < ends:
                parts.append(self._shard(path)[max(0, start - begins) : end - begins])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _shard(self, path: str) -> memoryview:
        """The content of a shard, opened once: a small file is read, and each weight would keep its copy."""
        if path not in self._opened:
            self._opened[path] = self.files.map(path)
        return self._opened[path]


class TfjsWeights:
    """The weights of a model, with the interface of a `Checkpoint`."""

    def __init__(self, manifest: object, files: Files, label: str) -> None:
        self.where = label
        self.groups: list[WeightGroup] = []
        self._weights: dict[str, tuple[WeightGroup, Weight]] = {}
        for number, group in enumerate(listed(manifest, f"{label}: weightsManifest")):
            where = f"{label}: weightsManifest[{number}]"
            if not isinstance(group, dict):
                raise UnreadableFile(
                    f"{where}: expected an object with `paths` and `weights`, found a {type(group).__name__}"
                )
            paths = [inside(path, where) for path in listed(group.get("paths"), f"{where}.paths")]
            weights = [weight_from(w, where) for w in listed(group.get("weights"), f"{where}.weights")]
            whole = WeightGroup(files, paths, weights, label)
            self.groups.append(whole)
            self._weights.update((w.entry.name, (whole, w)) for w in weights)

    def names(self) -> list[str]:
        """The names of the weights, which are names of Const nodes, sorted."""
        return sorted(self._weights)

    def entry(self, name: str) -> CheckpointEntry:
        """The type and shape of a weight in the graph."""
        return self.find(name)[1].entry

    def read(self, name: str) -> NDArray[Any]:
        """A weight, as a read-only array."""
        group, weight = self.find(name)
        start, end = group.spans[name]
        out = decode(group.between(start, end), weight)
        out.flags.writeable = False
        return out

    def find(self, name: str) -> tuple[WeightGroup, Weight]:
        if name not in self._weights:
            raise missing(self.where, name, self.names())
        return self._weights[name]

    def __contains__(self, name: object) -> bool:
        return name in self._weights


def listed(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise UnreadableFile(
            f"{where}: expected a list, found {'nothing' if value is None else type(value).__name__}"
        )
    return value


def inside(path: object, where: str) -> str:
    """The path of a shard, which must be within the folder of the JSON file."""
    if not isinstance(path, str) or not path or "\0" in path:
        raise UnreadableFile(f"{where}: expected the path of a weights file, found {path!r:.40}")
    plain = posixpath.normpath(path)
    if plain.startswith(("/", "..")) or "://" in path:
        raise UnreadableFile(f"{where}: the weights file `{path}` is outside the folder of the model")
    return plain


def weight_from(data: object, where: str) -> Weight:
    name = data.get("name") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(name, str):
        raise UnreadableFile(f"{where}: expected a weight with a name, found {data!r:.40}")
    where = f"{where}: weight {shown(name)}"
    dtype = DTYPES.get(str(data.get("dtype")))
    if dtype is None:
        raise UnreadableFile(
            f"{where}: expected a type that TensorFlow.js supports, found {data.get('dtype')!r:.40}"
        )
    shape = shape_from(data.get("shape"), where)
    stored, scale, minimum = int(dtype), 1.0, 0.0
    if (quantization := data.get("quantization")) is not None:
        stored, scale, minimum = quantization_from(quantization, dtype, where)
    size = None if dtype == pb.DT_STRING else prod(shape) * ITEM_SIZE[stored]
    return Weight(CheckpointEntry(name, dtype, shape, size), stored, scale, minimum)


def shape_from(value: object, where: str) -> tuple[int, ...]:
    shape = tuple(listed(value, f"{where}: shape"))
    fine = all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in shape)
    if not fine or len(shape) > MOST_AXES or prod(max(n, 1) for n in shape) > MOST_BYTES:
        raise UnreadableFile(f"{where}: invalid shape {list(shape)!r:.60}")
    return shape


def quantization_from(data: object, dtype: int, where: str) -> tuple[int, float, float]:
    """The type in the file, the scale and the minimum; half precision has no scale and minimum."""
    type_name = data.get("dtype") if isinstance(data, dict) else None
    stored = QUANTIZED.get(str(type_name))
    if not isinstance(data, dict) or stored is None or dtype not in (pb.DT_FLOAT, pb.DT_INT32):
        raise UnreadableFile(f"{where}: unsupported quantization to {type_name!r:.40}")
    if stored == pb.DT_HALF:
        return stored, 1.0, 0.0
    try:
        return stored, float(data["scale"]), float(data["min"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise UnreadableFile(f"{where}: the quantization has no numbers `scale` and `min`") from None


def decode(data: memoryview | bytes, weight: Weight) -> NDArray[Any]:
    """Decode the bytes of a weight."""
    import numpy as np

    from tfport.formats.encoding.tensor import NUMPY

    entry = weight.entry
    if entry.dtype == pb.DT_STRING:
        return strings(data, entry)
    raw = np.frombuffer(data, NUMPY[weight.stored].newbyteorder("<"))
    if weight.stored == entry.dtype:
        return raw.reshape(entry.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        if weight.stored != pb.DT_HALF:
            # computed in double precision; Math.round rounds halves up
            raw = raw.astype(np.float64) * weight.scale + weight.minimum
            raw = np.floor(raw + 0.5) if entry.dtype == pb.DT_INT32 else raw
        return raw.astype(NUMPY[entry.dtype]).reshape(entry.shape)


def strings(data: memoryview | bytes, entry: CheckpointEntry) -> NDArray[Any]:
    import numpy as np

    out = np.empty(prod(entry.shape), object)
    at = 0
    for index in range(len(out)):
        end = at + LENGTH_BYTES + int.from_bytes(data[at : at + LENGTH_BYTES], "little")
        out[index] = bytes(data[at + LENGTH_BYTES : end])
        at = end
    return out.reshape(entry.shape)
