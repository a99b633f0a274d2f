"""Inputs of `fuzz` for TensorFlow Lite files: the one-operator models of the tests, and custom options."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))

import numpy as np
from tests.formats.lite.test_flexbuffer import WRITTEN

import tfport
from tfport.formats.lite.flexbuffer import decode_flexbuffer
from tfport.runtime.engines.engine import LiteFiles
from tfport.runtime.engines.litert.whole_file import whole_file

ROOT = Path(__file__).parent.parent
MOST_ELEMENTS = 10**6


def lite_files() -> list[bytes]:
    """The models of the tables of cases."""
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sorted((ROOT / "tests/frontends/lite/ops").glob("test_*.py"))
    ]
    tables = [getattr(importlib.import_module(module), "CASES", ()) for module in modules]
    return [case.model for table in tables for case in table]


def load_lite_model(data: bytes) -> None:
    """Read a file, build its graph, describe it, and read its constants."""
    model = tfport.load(data)
    str(tfport.inspect(model))
    for node in model.graph:
        if node.op == "Const":
            node.attrs["value"].numpy()


def run_in_litert(data: bytes) -> None:
    """Load a file; if the default engine would hand it to LiteRT, run it there with ones."""
    model = tfport.load(data)
    if whole_file(model, 1, LiteFiles.ROBUST) is None:
        return
    session = tfport.Session(model, threads=1)
    for name, signature in model.signatures.items():
        shapes = {k: [size or 1 for size in spec.shape.dims or ()] for k, spec in signature.inputs.items()}
        if sum(math.prod(shape) for shape in shapes.values()) < MOST_ELEMENTS:
            session.signature(name)(
                **{key: np.ones(shapes[key], spec.dtype.numpy) for key, spec in signature.inputs.items()}
            )


def flexbuffers() -> list[bytes]:
    """Maps, lists, numbers and texts."""
    return [data for data, _ in WRITTEN]


def read_flexbuffer(data: bytes) -> None:
    decode_flexbuffer(data)
