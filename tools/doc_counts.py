"""The numbers that the documentation states, computed.

A page marks a number with its name: `<!-- count releases -->100<!-- end -->`. `make docs-refresh`
writes the current number, and `tests/test_docs.py` fails if a page states another.
"""

from __future__ import annotations

import functools
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))
MARK = re.compile(r"<!-- count (?P<name>[\w-]+) -->(?P<number>[^<]*)<!-- end -->")
COUNTS: dict[str, Callable[[], int]] = {}


def count(function: Callable[[], int]) -> Callable[[], int]:
    """Declare a count; its name is the function's, with hyphens."""
    COUNTS[function.__name__.replace("_", "-")] = function
    return function


def numbers_in(text: str) -> dict[str, str]:
    """The numbers that a page states, by name."""
    return {mark["name"]: mark["number"] for mark in MARK.finditer(text)}


def computed(name: str) -> str:
    """A count as pages write it: 44,734."""
    if name not in COUNTS:
        raise SystemExit(f"no count {name}; tools/doc_counts.py has {', '.join(COUNTS)}")
    return f"{COUNTS[name]():,}"


def refreshed(text: str) -> str:
    """A page with its numbers computed again."""
    return MARK.sub(lambda mark: f"<!-- count {mark['name']} -->{computed(mark['name'])}<!-- end -->", text)


@count
def releases() -> int:
    from tfport.atlas.known_ops import known_ops

    return len(known_ops().recorded())


@count
def ops_run() -> int:
    from tfport.runtime.lower import KERNELS, LOWERINGS, STRUCTURES

    return _of_tensorflow({*KERNELS.names(), *LOWERINGS.names(), *STRUCTURES.names()})


@count
def ops_lowered() -> int:
    from tfport.runtime.lower import LOWERINGS

    return _of_tensorflow(LOWERINGS.names())


@count
def ops_on_host() -> int:
    from tfport.runtime.lower import KERNELS

    return _of_tensorflow(KERNELS.names())


def _of_tensorflow(ops: Iterable[str]) -> int:
    """How many are not of the dialect of TensorFlow Lite."""
    from tfport.frontends.lite.definitions import lite_definitions

    return len(set(ops) - lite_definitions().keys())


@count
def small_models() -> int:
    return len({case for name, case, _ in _outcomes() if not name.startswith("python")})


@count
def keras_models() -> int:
    """Models that old releases wrote, tried through Python and Keras only."""
    python = {case for name, case, _ in _outcomes() if name.startswith("python")}
    return len(python) - len(
        python & {case for name, case, _ in _outcomes() if not name.startswith("python")}
    )


@count
def small_models_on_a_gpu() -> int:
    return len({case for name, case, _ in _outcomes() if name.startswith("gpu/")})


@count
def outcomes() -> int:
    return sum(1 for _ in _outcomes())


@count
def outcomes_compared() -> int:
    beyond = tomllib.loads((ROOT / "tests/truth/beyond.toml").read_text())
    left_out = [case for kind in ("shapes", "values", "damaged", "odd") for case in beyond[kind]]
    plain = [pattern for pattern in left_out if "@" not in pattern]
    exact = [pattern for pattern in left_out if "@" in pattern]

    @functools.cache
    def is_left_out(case: str, name: str) -> bool:
        if any(fnmatchcase(case, pattern) for pattern in plain):
            return True
        return any(fnmatchcase(f"{case}@{name}", pattern) for pattern in exact)

    return sum(not is_left_out(case, name) for name, case, _ in _outcomes())


@count
def releases_tried() -> int:
    from tests.truth_outcomes import read_small_model_outcomes

    records = read_small_model_outcomes()
    return len({record["version"] for name, record in records.items() if name.startswith("capi/")})


@count
def releases_tried_in_python() -> int:
    from tests.truth_outcomes import read_small_model_outcomes

    records = read_small_model_outcomes()
    return len({record["version"] for name, record in records.items() if name.startswith("python")})


@count
def published_models() -> int:
    """SavedModels of published packages that were tried on real releases."""
    return len({case for _, record in _real_records() for case in record["outcomes"]})


@count
def published_model_releases() -> int:
    return len({record["version"] for _, record in _real_records()})


@count
def published_model_loads() -> int:
    return sum(len(loaders) for _, record in _real_records() for loaders in record["outcomes"].values())


def _real_records() -> list[tuple[str, dict]]:
    from tests.truth_outcomes import read_outcomes

    return [(name, record) for name, record in read_outcomes().items() if name.startswith("real/")]


@count
def op_libraries() -> int:
    """Op libraries that were loaded into several releases."""
    return len(_library_pairs()["libraries"])


@count
def op_library_releases() -> int:
    return len(_predicted_releases())


@count
def op_library_loads() -> int:
    libraries = _library_pairs()["libraries"].values()
    return sum(len(library["outcomes"].keys() & _predicted_releases()) for library in libraries)


@count
def library_cases() -> int:
    """Files that each load, or fail to load, in their own way."""
    recorded = json.loads((ROOT / "tests/libraries/outcomes.json").read_text())
    return len(recorded["outcomes"])


def _library_pairs() -> dict:
    from tests.compact_json import read_json

    return read_json(ROOT / "tests/libraries/pairs.json.xz")


def _predicted_releases() -> set[str]:
    """The releases whose symbols are recorded: not the wheels of 1.14 for Python 3.6."""
    return {release for release in _library_pairs()["releases"] if not release.endswith("-cp36")}


@functools.cache
def _outcome_list() -> list[tuple[str, str, str]]:
    from tests.truth_outcomes import read_small_model_outcomes

    return [
        (name, case, loader)
        for name, record in read_small_model_outcomes().items()
        for case, loaders in record["outcomes"].items()
        for loader in loaders
    ]


def _outcomes() -> Iterator[tuple[str, str, str]]:
    """Each record, case and loader."""
    yield from _outcome_list()
