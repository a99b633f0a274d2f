"""A pytest plugin: the tests that were collected, and the outcome of each at once, as lines of JSON.

    GPU_OPS_REPORT=FILE python -m pytest -p gpu_ops_report …

What a test did before a process ends is not lost, also if a kernel ends it.
"""

import json
import os
from typing import Any

FILE = "GPU_OPS_REPORT"
LONGEST = 400


def pytest_collection_finish(session: Any) -> None:
    _write({"collected": [item.nodeid for item in session.items]})


def pytest_runtest_logreport(report: Any) -> None:
    if report.when == "call" or report.outcome != "passed":
        message = "" if report.outcome == "passed" else str(report.longrepr).strip()[-LONGEST:]
        _write({"test": report.nodeid, "outcome": report.outcome, "message": message})


def _write(line: dict[str, Any]) -> None:
    with open(os.environ[FILE], "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
