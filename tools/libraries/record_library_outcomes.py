"""Record what the loader and TensorFlow do with the files of tests/libraries.

    python tools/libraries/record_library_outcomes.py [--python .venv-live/bin/python] [CASE…]

Each file is loaded in its own process (`load_probe.py`), by dlopen and by tf.load_op_library of
the installed TensorFlow. Writes tests/libraries/outcomes.json, a line for each case; cases that
are not named keep their records. Folders of this machine are replaced by LIBRARIES (the cases)
and TENSORFLOW (the package).
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path

from build import CASES, LIBRARIES
from case import Case, Load

PROBE = Path(__file__).with_name("load_probe.py")
OUT = LIBRARIES / "outcomes.json"
OTHER_USER = 65534
FACTS = """
import json, os, platform, tensorflow
print(json.dumps([tensorflow.__version__, os.path.dirname(tensorflow.__file__), platform.libc_ver()[1]]))
"""


def main() -> None:
    args = arguments()
    version, package, glibc = json.loads(output_of([args.python, "-c", FACTS]).splitlines()[-1])
    before = json.loads(OUT.read_text())["outcomes"] if OUT.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        place = Path(folder, "libraries")
        answers = load_all(args.python, {name: CASES[name] for name in args.cases or CASES}, place)
        text = json.dumps(answers).replace(str(place), "LIBRARIES").replace(package, "TENSORFLOW")
    outcomes = before | {name: outcome(name, answer) for name, answer in json.loads(text).items()}
    head = {"tensorflow": version, "glibc": glibc, "machine": os.uname().machine}
    write(head, {name: outcomes[name] for name in CASES if name in outcomes})


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Record what TensorFlow does with many files.")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--python", default=LIBRARIES.parents[1] / ".venv-live/bin/python", type=Path)
    return parser.parse_args()


def load_all(python: Path, cases: dict[str, Case], place: Path) -> dict[str, dict]:
    """The answers for all cases; each LD_LIBRARY_PATH needs its own process."""
    shutil.copytree(LIBRARIES, place)
    by_path = defaultdict(list)
    for name, case in cases.items():
        file = place / file_of(name, case)
        by_path[library_path(file, case.load)].append((name, task(name, case, file)))
    answers = {}
    for path, tasks in by_path.items():
        todo = "".join(json.dumps(task) + "\n" for _, task in tasks)
        lines = output_of([python, PROBE], todo, path).splitlines()
        records = [json.loads(line) for line in lines if line.startswith("{")]
        answers |= dict(zip((name for name, _ in tasks), records, strict=True))
    return {name: answers[name] for name in cases}


def file_of(name: str, case: Case) -> str:
    return case.file or f"{name}/op.so"


def library_path(file: Path, load: Load) -> str:
    return str((file.parent / load.library_path).resolve()) if load.library_path else ""


def task(name: str, case: Case, file: Path) -> dict:
    """The task of a case for `load_probe.py`; a file with other permissions is a copy."""
    load, first, user = case.load, None, None
    folder = file.parent if file.parent.is_dir() else file.parents[1]
    if load.copy_first:
        first = str(shutil.copy(file, file.with_name("copy.so")))
    if load.mode is not None:
        file, user = Path(shutil.copy(file, file.with_name(f"{name}.so"))), OTHER_USER
        file.chmod(int(load.mode, 8))
    return {
        "path": load.path or str(file),
        "folder": str((folder / load.folder).resolve()),
        "first": first,
        "calls": case.calls,
        "user": user,
    }


def output_of(command: list[str | Path], todo: str = "", path: str = "") -> str:
    environment = {**os.environ, "LD_LIBRARY_PATH": path}
    done = subprocess.run(command, input=todo, env=environment, text=True, stdout=subprocess.PIPE, check=True)
    return done.stdout


def outcome(name: str, answer: dict) -> dict:
    """The record of a case: the outcome of tf.load_op_library, and that of dlopen if it differs."""
    case, loaded = CASES[name], answer["load_op_library"]
    how = {key: value for key, value in asdict(case.load).items() if value != getattr(Load(), key)}
    record = {
        "description": case.description,
        "file": file_of(name, case),
        "load": how,
        "loads": loaded["loads"],
    }
    record |= {key: loaded[key] for key in ("says", "raises", "ends_process") if loaded.get(key)}
    if loaded["loads"]:
        record["registers"] = {"ops": loaded["ops"], "kernels": loaded["kernels"]}
        record |= {key: loaded[key] for key in ("module", "calls", "calls_of_first") if key in loaded}
    plain = {key: value for key, value in answer["dlopen"].items() if value is not None}
    same = (plain["loads"], plain.get("says")) == (loaded["loads"], loaded["says"])
    return record if same else record | {"dlopen": plain}


def write(head: dict, outcomes: dict[str, dict]) -> None:
    rows = [json.dumps({name: record})[1:-1] for name, record in outcomes.items()]
    start = json.dumps({**head, "outcomes": None})[: -len("null}")]
    OUT.write_text(start + "{\n" + ",\n".join(rows) + "\n}}\n")


if __name__ == "__main__":
    main()
