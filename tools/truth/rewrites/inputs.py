"""Make the inputs of a model from its signature and the options of its case, the same each time.

An unknown first axis is the batch; for other unknown axes the case must state the size (`shape`, with -1
for the batch). Numbers are drawn between `low` and `high`, or the last axis is `one_hot`; strings come from
`words` or, for bytes, `base64`, and with `numbered = "w{9}"` from w0 to w8; `value` is used unchanged. Images
consist of
squares of `patch` pixels a side. `padded` sequences have rows of different lengths, with zeros after
or before them, and a row of zeros only; matrices of integers from 0 on, as ids are, are padded unless
`padded = false`.
"""

import itertools
import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Any
from zlib import crc32

import numpy as np

from tfport.graph.model import Signature, TensorSpec

LOW, HIGH = 0, 1
HIGH_INTEGER = 3
WORDS = ("", "a", "tensor", "straße", "The quick brown fox jumps over the lazy dog.")


def inputs_for(way: Signature, options: Mapping[str, Mapping[str, Any]], batch: int) -> dict[str, np.ndarray]:
    """An array for each input of a signature."""
    if unknown := set(options) - set(way.inputs):
        raise LookupError(f"no input {', '.join(sorted(unknown))}; there is {', '.join(way.inputs)}")
    return {n: one_input(n, spec, options.get(n, {}), batch) for n, spec in way.inputs.items()}


def one_input(name: str, spec: TensorSpec, options: Mapping[str, Any], batch: int) -> np.ndarray:
    rng = np.random.default_rng([crc32(name.encode()), batch])
    if "value" in options:
        return np.array(options["value"], spec.dtype.numpy)
    shape = shape_of(name, spec, options, batch)
    if spec.dtype.name == "string":
        words = [b64decode(word) for word in options.get("base64", ())]
        words = words or [word.encode() for word in options.get("words", WORDS)]
        if pattern := re.fullmatch(r"(\w*)\{(\d+)\}", options.get("numbered", "")):
            words += [f"{pattern[1]}{i}".encode() for i in range(int(pattern[2]))]
        return rng.choice(np.array(words, object), shape)
    if spec.dtype.name == "bool":
        return rng.random(shape) < 0.5
    if options.get("one_hot"):
        return np.eye(shape[-1], dtype=spec.dtype.numpy)[rng.integers(0, shape[-1], shape[:-1])]
    low = options.get("low", LOW)
    if spec.dtype.is_integer:
        drawn = rng.integers(low, options.get("high", HIGH_INTEGER), shape).astype(spec.dtype.numpy)
        return padded(drawn) if options.get("padded", drawn.ndim == 2 and low == 0) else drawn
    drawn = patches(rng, shape, options["patch"]) if "patch" in options else rng.random(shape)
    numbers = (low + (options.get("high", HIGH) - low) * drawn).astype(spec.dtype.numpy)
    return padded(numbers) if options.get("padded") else numbers


def padded(sequences: np.ndarray) -> np.ndarray:
    """Rows in turn: whole, zeros after two thirds, zeros only, zeros before the last third, one step."""
    steps = sequences.shape[1]
    whole = slice(None)
    parts = (
        slice(0, 0),
        slice(-(-2 * steps // 3), None),
        whole,
        slice(0, steps - steps // 3),
        slice(1, None),
    )
    for row, part in zip(sequences, itertools.cycle(parts), strict=False):
        row[part] = 0
    return sequences


def patches(rng: np.random.Generator, shape: list[int], size: int) -> np.ndarray:
    """Images of single-colored squares, each with its own brightness: noise would look alike to a network."""
    batch, height, width, channels = shape
    coarse = rng.random((batch, -(-height // size), -(-width // size), channels))
    wide = coarse.repeat(size, 1).repeat(size, 2)[:, :height, :width]
    return wide * rng.random((batch, 1, 1, channels))


def shape_of(name: str, spec: TensorSpec, options: Mapping[str, Any], batch: int) -> list[int]:
    if "shape" in options:
        return [batch if size == -1 else size for size in options["shape"]]
    dims = spec.shape.dims
    if dims is None or None in dims[1:]:
        raise LookupError(f"input {name} has shape {spec.shape}: the case must tell its `shape`")
    return [batch if size is None else size for size in dims]
