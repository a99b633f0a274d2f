"""Outcomes: what real releases of TensorFlow did with the models of tests/truth, recorded.

All of them are in `tests/truth/outcomes.json.xz`, one record per group and build:

    read_outcomes()["capi/tensorflow-2.8.4"]
    {"package": "tensorflow", "version": "2.8.4", "wheel": …, "sha256": …,
     "outcomes": {CASE: {LOADER: {"stage": "load", "message": "Op type not registered …"}}}}

The groups are `capi`, `capi_without_onednn`, `python` and `real` (models of other people).
`tests/truth/README.md` describes them. `tools/truth` writes the records.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.compact_json import read_json, write_json

Record = dict[str, Any]
FILE = Path(__file__).parent / "truth/outcomes.json.xz"
REAL_MODELS = "real"


def read_outcomes(file: Path = FILE) -> dict[str, Record]:
    """Return every record by its name, `GROUP/PACKAGE-RELEASE`."""
    return read_json(file) if file.exists() else {}


def read_small_model_outcomes() -> dict[str, Record]:
    """Return the records about the models that are stored in tests/truth."""
    return {name: record for name, record in read_outcomes().items() if group_of(name) != REAL_MODELS}


def write_record(name: str, record: Record, file: Path = FILE) -> None:
    """Add a record, or replace the one of that name."""
    write_json(file, read_outcomes(file) | {name: record})


def group_of(name: str) -> str:
    return name.partition("/")[0]
