"""`make bench-bodies`: how fast large JSON bodies become arrays, in megabytes per second of processor time.

    python benchmarks/bodies.py [--megabytes 50]

`objects` is the same decoder without `numbers_of`: orjson creates Python objects, which are packed. The last
columns only parse: Python's json, and rapidjson, the parser of TensorFlow Serving, both into Python objects.
The second table is about bodies that orjson refuses and TensorFlow Serving accepts: `serve.rest.parse` reads
them with Python's json, and would with `rapid_json` alone, which is slower.
"""

import argparse
import base64
import json
import time
from collections.abc import Callable
from unittest import mock

import numpy as np
import orjson

from tfport.graph.dtypes import DType
from tfport.graph.model import Signature, TensorSpec
from tfport.graph.shapes import UNKNOWN
from tfport.serve.rest import numbers
from tfport.serve.rest.decode import decode
from tfport.serve.rest.parse import parsed
from tfport.serve.rest.rapid_json import read_json

try:
    import rapidjson
except ImportError:
    rapidjson = None

REPEATS = 3


def bodies(size: int) -> dict[str, tuple[bytes, dict[str, str]]]:
    """Return bodies of about this size with the types of their inputs."""
    random = np.random.default_rng(1)
    images = random.random((max(size // 1_440_000, 1), 224, 224, 3)).round(6).astype(np.float32)
    vectors = random.random((size // 90, 8)).round(6)
    texts = [{"b64": base64.b64encode(image[:32].tobytes()).decode()} for image in images]
    both = {"x": "float32", "y": "int64"}
    return {
        "images, nested lists": (_json({"instances": images}), {"x": "float32"}),
        "images, columns": (
            _json({"inputs": {"x": images, "y": np.arange(len(images))}}), both,
        ),
        "images, rows of objects": (
            _json({"instances": [{"x": image, "y": row} for row, image in enumerate(images)]}), both,
        ),
        "vectors of 8, rows of objects": (
            _json({"instances": [{"x": vector, "y": row} for row, vector in enumerate(vectors)]}), both,
        ),
        "images and base64, rows of objects": (
            _json({"instances": [{"x": x, "s": s} for x, s in zip(images, texts, strict=True)]}),
            {"x": "float32", "s": "string"},
        ),
    }  # fmt: skip


def tolerated_bodies(size: int) -> dict[str, bytes]:
    """Return bodies of about this size that are not valid JSON."""
    numbers = _json({"instances": np.random.default_rng(1).random((size // 90, 8)).round(6)})
    texts = _json({"instances": [f"text {number}" for number in range(size // 15)]})
    return {
        "a NaN": numbers.replace(b"[[", b"[[NaN,", 1),
        "bytes that are not UTF-8": texts.replace(b"text 7", b"text \xff", 1),
    }


def _json(document: object) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY)


def _signature(inputs: dict[str, str]) -> Signature:
    specs = {name: TensorSpec((f"{name}:0",), DType.parse(kind), UNKNOWN) for name, kind in inputs.items()}
    return Signature("serving_default", "", specs, specs)


def speed(size: int, work: Callable[[], object]) -> float:
    """Return megabytes per second of processor time, the best of some runs."""
    times = []
    for _ in range(REPEATS):
        began = time.thread_time()
        work()
        times.append(time.thread_time() - began)
    return size / 1e6 / min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=50)
    size = parser.parse_args().megabytes * 10**6
    print("| MB/s | tfport | objects | json | rapidjson |\n|---|---|---|---|---|")
    for name, (body, inputs) in bodies(size).items():
        signature = _signature(inputs)
        ours = speed(len(body), lambda: decode(body, lambda _: signature))  # noqa: B023
        with mock.patch.object(numbers, "LARGE", len(body) + 1):
            objects = speed(len(body), lambda: decode(body, lambda _: signature))  # noqa: B023
        plain = speed(len(body), lambda: json.loads(body))  # noqa: B023
        rapid = speed(len(body), lambda: rapidjson.loads(body)) if rapidjson else float("nan")  # noqa: B023
        print(f"| {name} | {ours:.0f} | {objects:.0f} | {plain:.0f} | {rapid:.0f} |", flush=True)
    print("\n| MB/s | tfport | rapid_json alone |\n|---|---|---|")
    for name, body in tolerated_bodies(size // 10).items():
        ours, alone = (speed(len(body), lambda: read(body)) for read in (parsed, read_json))  # noqa: B023
        print(f"| {name} | {ours:.0f} | {alone:.1f} |", flush=True)


if __name__ == "__main__":
    main()
