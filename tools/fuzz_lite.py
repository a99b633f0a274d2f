"""Inputs of `fuzz` for TensorFlow Lite files: the one-operator models of the tests, and custom options."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))

from tests.formats.lite.test_flexbuffer import WRITTEN

import tfport
from tfport.formats.lite.flexbuffer import decode_flexbuffer

ROOT = Path(__file__).parent.parent


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


def flexbuffers() -> list[bytes]:
    """Maps, lists, numbers and texts."""
    return [data for data, _ in WRITTEN]


def read_flexbuffer(data: bytes) -> None:
    decode_flexbuffer(data)
