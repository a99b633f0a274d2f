"""Run a folder of cases (small models with TensorFlow's answers) and count, per op type, how many agree.

    python tools/corpus.py FOLDER [--op OP]… [--failures] [--host] [--workers N]

FOLDER contains INDEX.json, the cases and `read_case.py`, which reads them. `--op` runs the cases
with an op, `--failures` prints what differs in each case, `--host` runs without lowerings.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import multiprocessing
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

SECONDS = 60


def reader(folder: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("read_case", Path(folder) / "read_case.py")
    if spec is None or spec.loader is None:
        sys.exit(f"{folder}: read_case.py not found")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answers(case: Any) -> dict[str, Any]:
    import tfport

    if case.kind == "graphdef":
        session = tfport.Session(tfport.load(case.graph))
        return dict(zip(case.outputs, session.run(list(case.outputs), case.inputs), strict=True))
    with tempfile.TemporaryDirectory() as folder:
        session = tfport.Session(tfport.load(case.extract(folder)))
        return session.signature("serving_default")(**case.inputs)


def verdict(job: tuple[str, dict[str, Any]]) -> tuple[dict[str, Any], str | None]:
    """Return None if every answer agrees, else what differs."""
    folder, row = job
    module = reader(folder)
    signal.signal(signal.SIGALRM, _timeout)
    signal.alarm(SECONDS)
    try:
        case = module.read_case(row["path"])
        return row, module.mismatch(case, answers(case))
    except Exception as error:  # any error is a result of the case
        return row, f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)


def _timeout(*_: object) -> None:
    raise TimeoutError(f"no answer in {SECONDS} s")


def run(folder: str, ops: list[str], workers: int, host: bool) -> Iterator[tuple[dict[str, Any], str | None]]:
    rows = [row for row in reader(folder).index(folder) if not ops or set(ops) & set(row["op_types"])]
    with multiprocessing.Pool(workers, host_only if host else None) as pool:
        yield from pool.imap_unordered(verdict, [(folder, row) for row in rows], chunksize=8)


def host_only() -> None:
    from tfport.runtime import lower

    lower.LOWERINGS.all().clear()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--op", action="append", default=[])
    parser.add_argument("--failures", action="store_true")
    parser.add_argument("--host", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    passed: collections.Counter[str] = collections.Counter()
    total: collections.Counter[str] = collections.Counter()
    failed: list[tuple[dict[str, Any], str]] = []
    for row, why in run(args.folder, args.op, args.workers, args.host):
        total.update(["", *row["op_types"]])
        if why is None:
            passed.update(["", *row["op_types"]])
        else:
            failed.append((row, why))
    for op in sorted(total):
        if op and (passed[op] < total[op] or not args.failures):
            print(f"{op:40} {passed[op]}/{total[op]}")
    if args.failures:
        for row, why in sorted(failed, key=lambda f: f[0]["file"]):
            print(f"{row['file']}\n    {why[:400]}")
    print(f"{passed['']} of {total['']} cases agree")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
