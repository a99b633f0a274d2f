"""Inputs of `fuzz` for `scan`: hostile files, marshalled functions and pickles, damaged further."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))

from tests.scan import hostile_files as make
from tests.scan.test_hostile_files import CASES

import tfport
from tfport.formats.encoding.marshalled_code import code_bytes, read_code
from tfport.formats.encoding.pickled_names import is_text_pickle, pickled_names

FUNCTIONS = Path(__file__).parent.parent / "tests/scan/marshalled_functions.txt"
MOST_SEED = 1 << 18
NAMES = (
    "model",
    "model.keras",
    "model.h5",
    "model.pb",
    "model.tflite",
    "model.json",
    "model.pkl",
    "model.zip",
)


def hostile_files() -> list[bytes]:
    """The hostile files of the tests that are single and small."""
    contents = []
    for maker, _ in CASES.values():
        with tempfile.TemporaryDirectory() as folder:
            path = maker(Path(folder))
            if path.is_file() and path.stat().st_size < MOST_SEED:
                contents.append(path.read_bytes())
    return contents


def scan_file(data: bytes) -> None:
    """Scan the bytes as a file whose name depends on them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, NAMES[len(data) % len(NAMES)])
        path.write_bytes(data)
        report = tfport.scan(path)
        json.dumps(report.to_json())
        str(report)


def functions() -> list[bytes]:
    """What real Pythons marshalled."""
    return [code_bytes(line.split()[1]) for line in FUNCTIONS.read_text().splitlines()]


def read_marshalled(data: bytes) -> None:
    read_code(data).describe()
    read_code(code_bytes(data.decode("latin-1"))).describe()


def pickles() -> list[bytes]:
    return [make.SYSTEM, make.TEXT_PICKLE, make.INDIRECT, make.DECOY, make.MEMOIZED]


def read_pickle(data: bytes) -> None:
    pickled_names(data)
    is_text_pickle(data)
