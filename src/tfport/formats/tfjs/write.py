"""Write a TensorFlow.js model: model.json, and its weights one after another in shards of 4 MB.

`write_tfjs(folder, document, weights)` adds the manifest of the weights to the document. Arrays come in
the types that TensorFlow.js has (`stored_array`); float32 arrays can be stored in fewer bits, as its own
converter stores them (`WeightQuantization`).
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfport.errors import Error
from tfport.formats.tfjs.signature import MODEL
from tfport.formats.tfjs.weights import LENGTH_BYTES, QUANTIZED, STORED_AS, decode, weight_from
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHARD_BYTES = 4 << 20
"""What browsers keep in their caches."""
EVERY = "*"
SMALLEST, LARGEST = -(2**31), 2**31 - 1


@dataclass(frozen=True, slots=True)
class WeightQuantization:
    """Which float32 weights are stored as float16, uint8 or uint16: patterns of names, and their types."""

    patterns: tuple[tuple[str, str], ...] = ()

    def dtype(self, name: str) -> str | None:
        """The type that a weight is stored in; None if it stays float32. `*` is for the rest."""
        for pattern, dtype in sorted(self.patterns, key=lambda entry: entry[0] == EVERY):
            if fnmatch.fnmatchcase(name, pattern):
                return dtype
        return None


def parse_quantization(texts: Iterable[str]) -> WeightQuantization:
    """`float16`, `uint8` or `uint16` for all weights, or `uint8=PATTERN` for those of matching names."""
    patterns = []
    for text in texts:
        dtype, _, pattern = text.partition("=")
        if dtype not in QUANTIZED:
            raise Error(f"--quantize {text}: expected float16, uint8 or uint16, or one with =PATTERN")
        patterns.append((pattern or EVERY, dtype))
    if sum(pattern == EVERY for pattern, _ in patterns) > 1:
        raise Error("--quantize: two types for all weights; name one of them, and the others with =PATTERN")
    return WeightQuantization(tuple(patterns))


def write_tfjs(
    folder: Path,
    document: Mapping[str, Any],
    weights: Iterable[tuple[str, NDArray[Any]]],
    quantization: WeightQuantization | None = None,
) -> None:
    """Write a model to a new folder; arrays are asked for one at a time."""
    folder.mkdir()
    entries: list[dict[str, Any]] = []
    paths = _write_shards(folder, _stored(weights, quantization or WeightQuantization(), entries))
    whole = {**document, "weightsManifest": [{"paths": paths, "weights": entries}]}
    with (folder / MODEL).open("w", encoding="utf-8") as file:
        json.dump(whole, file, ensure_ascii=False, separators=(",", ":"))


def _stored(
    weights: Iterable[tuple[str, NDArray[Any]]],
    quantization: WeightQuantization,
    entries: list[dict[str, Any]],
) -> Iterator[memoryview | bytes]:
    """The bytes of each weight; its entry of the manifest is added to `entries`."""
    for name, array in weights:
        stored, entry = _entry(name, array, quantization)
        entries.append(entry)
        yield _bytes(stored)


def _entry(
    name: str, array: NDArray[Any], quantization: WeightQuantization
) -> tuple[NDArray[Any], dict[str, Any]]:
    """An array as it is stored, and its entry of the manifest."""
    entry: dict[str, Any] = {"name": name, "shape": list(array.shape), "dtype": _type_name(array)}
    dtype = quantization.dtype(name)
    if dtype is not None and entry["dtype"] == "float32" and array.size:
        array, entry["quantization"] = quantized(array, dtype)
    return array, entry


def restored(name: str, array: NDArray[Any], quantization: WeightQuantization) -> NDArray[Any] | None:
    """The numbers that TensorFlow.js computes with instead of those of a weight; None if it has these."""
    stored, entry = _entry(name, array, quantization)
    return decode(_bytes(stored), weight_from(entry, name)) if "quantization" in entry else None


def _type_name(array: NDArray[Any]) -> str:
    return "string" if array.dtype.kind == "O" else array.dtype.name


def _bytes(array: NDArray[Any]) -> memoryview | bytes:
    if array.dtype.kind == "O":
        return b"".join(len(s).to_bytes(LENGTH_BYTES, "little") + s for s in array.reshape(-1))
    little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    return little.reshape(-1).view("u1").data


def _write_shards(folder: Path, parts: Iterable[memoryview | bytes]) -> list[str]:
    """Write bytes to files of `SHARD_BYTES`; returns their names, which have the number of all."""
    shards: list[Path] = []
    file, left = None, 0
    for part in parts:
        rest = memoryview(part)
        while len(rest):
            if file is None or not left:
                if file is not None:
                    file.close()
                shards.append(folder / f"group1-shard{len(shards) + 1}")
                file, left = shards[-1].open("wb"), SHARD_BYTES
            file.write(rest[:left])
            rest, left = rest[left:], left - min(left, len(rest))
    if file is not None:
        file.close()
    return [shard.rename(f"{shard}of{len(shards)}.bin").name for shard in shards]


def stored_array(array: NDArray[Any], where: str) -> NDArray[Any]:
    """An array in the type that TensorFlow.js has for it; an error if an integer does not fit."""
    name = STORED_AS.get(array.dtype.name)
    if name is None:
        return array
    if name == "int32" and array.size and not (array.min() >= SMALLEST and array.max() <= LARGEST):
        raise Error(
            f"{where}: {array.dtype.name} numbers that int32 does not hold; TensorFlow.js has no other"
        )
    return array.astype(name)


def quantized(array: NDArray[Any], dtype: str) -> tuple[NDArray[Any], dict[str, Any]]:
    """A float32 array in fewer bits, and what restores it; zero stays zero."""
    import numpy as np

    described: dict[str, Any] = {"dtype": dtype, "original_dtype": "float32"}
    if dtype == "float16":
        with np.errstate(over="ignore"):
            return array.astype(np.float16), described
    lowest, highest = float(array.min()), float(array.max())
    if lowest == highest:
        return np.zeros(array.shape, dtype), {**described, "min": lowest, "scale": 1.0}
    most = np.iinfo(dtype).max
    scale = (highest - lowest) / most
    if lowest <= 0 <= highest:
        lowest = float(-np.round(-lowest / scale) * scale)
        highest = most * scale + lowest
    steps = np.round((array.clip(lowest, highest) - lowest) / scale).astype(dtype)
    return steps, {**described, "min": lowest, "scale": scale}
