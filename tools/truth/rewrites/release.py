"""Run models in the real binary of a release.

    python tools/truth/rewrites/release.py 1.4.1 MODEL --inputs inputs.npz -o outputs.npz [--signature NAME]
    … --python "env PYTHONHOME=ROOT/usr qemu-x86_64 -L ROOT ROOT/usr/bin/python3.11"

`unpacked_release` unpacks the wheel of a release into a temporary folder that is gone afterwards. An
`Installation` runs `jobs`: models with a signature and inputs. The jobs of the same model run in one
session, in a process of their own (`worker`). To repeat them, all of it is started again: a new process
has other addresses and other memory, which decides whether some bugs crash.

The binaries are for x86-64. On another machine `--python` is a command that runs a Python of x86-64: an
emulator. ROOT is a folder with Debian's packages of that platform: Python, libc, libstdc++, libffi. An
emulator takes many times as long, and its threads and addresses are its own, so that a crash by chance may
come more rarely or more often than on the real machine.
"""

import argparse
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import numpy as np

sys.path += [str(Path(__file__).parents[2] / folder) for folder in ("truth", "atlas")]

from elf import Library
from jobs import Answer, Job, Task
from record_capi import WITHOUT_ONEDNN
from record_reduced import INCLUDED, reducing
from stubs import cuda_stubs
from wheels import NOTHING, unpacked

from tfport.cli.run.outputs import write_npz

WORKER = Path(__file__).with_name("worker.py")
SECONDS = 600
AT_ONCE = 2
"""Worker processes at the same time."""
MACHINE = "x86_64"


@dataclass(frozen=True)
class Ran:
    """The answers of all jobs, once for each repetition, and the version that the binary reports."""

    repeated: list[list[Answer]]
    version: str

    @property
    def answers(self) -> list[Answer]:
        """The answers of the first run."""
        return self.repeated[0]


@dataclass(frozen=True)
class Installation:
    """A TensorFlow in a folder, and the wheel that it comes from."""

    package: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    wheel: str = ""
    sha256: str = ""
    python: tuple[str, ...] = (sys.executable,)
    """The command of a Python that can load its libraries."""

    def run(
        self, jobs: Sequence[Job], *, times: int = 1, seconds: float = SECONDS, reference: bool = False
    ) -> Ran:
        """Run jobs, each time in new processes.

        For a `reference` it computes what is written, as it is written: it neither rewrites the graph for
        speed nor uses oneDNN, and gets the attributes that TF.js leaves out.
        """
        environment = {**os.environ, **(WITHOUT_ONEDNN if reference else {}), **self.environment}
        with tempfile.TemporaryDirectory() as scratch:
            groups = [list(same) for _, same in groupby(jobs, lambda job: job.model)]
            tasks = [Task(group, Path(scratch, str(i)), reference) for i, group in enumerate(groups)]
            with ThreadPoolExecutor(AT_ONCE) as pool:
                runs = [
                    pool.submit(run_all, self, tasks, Path(scratch, f"run{n}"), seconds, environment)
                    for n in range(times)
                ]
                done = [run.result() for run in runs]
        return Ran([answers for answers, _ in done], done[0][1])


def run_all(
    there: Installation, tasks: Sequence[Task], folder: Path, seconds: float, environment: Mapping[str, str]
) -> tuple[list[Answer], str]:
    """Run all tasks in a worker; if it ends before its time, the rest in a new one."""
    version, answers, left = "", list[Answer](), list(tasks)
    while left or not version:
        folder.mkdir()
        done = subprocess.run(
            [*there.python, WORKER, there.package, str(seconds), folder],
            input="".join(json.dumps(task.question) + "\n" for task in left),
            env=dict(environment),
            capture_output=True,
            text=True,
            errors="replace",
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if not lines:
            raise RuntimeError(f"{there.package}: {done.stderr[-4000:]}")
        version, results = lines[0]["version"], [line["runs"] for line in lines[1:]]
        if len(results) < len(left):
            says = f"ends the worker: exit code {done.returncode}. {done.stderr[-300:]}"
            lost = left[len(results)].question["runs"]
            results.append([{"says": says, "stage": "crash"}] * len(lost))
        for task, runs in zip(left, results, strict=False):
            answers += task.read(runs)
        left = left[len(results) :]
        shutil.rmtree(folder)
    return answers, version


@contextmanager
def unpacked_release(
    release: str,
    *,
    package: str = "tensorflow",
    header: Path | None = None,
    python: Sequence[str] = (sys.executable,),
) -> Iterator[Installation]:
    """A release from the package index; with an ops_to_register.h as the build that it makes."""
    with unpacked(package, release, more=INCLUDED if header else NOTHING) as wheel:
        stubs = wheel.root / "stubs"
        stubs.mkdir()
        cuda_stubs([Library(path) for path in wheel.root.rglob("*.so*") if path.is_file()], stubs)
        environment = {"LD_LIBRARY_PATH": str(stubs)} | (reducing(wheel, header) if header else {})
        yield Installation(wheel.package, environment, wheel.name, wheel.sha256, tuple(python))


def add_python(parser: argparse.ArgumentParser) -> None:
    """Add the option for a machine that cannot run the binaries itself."""
    parser.add_argument(
        "--python",
        type=shlex.split,
        default=[sys.executable],
        help="command that runs a Python of x86-64 (default: this Python)",
    )


def is_emulated() -> bool:
    """Whether this machine needs an emulator for the binaries."""
    return platform.machine() != MACHINE


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a model in the real binary of a release.")
    parser.add_argument("release")
    parser.add_argument("model", type=Path)
    parser.add_argument("--package", default="tensorflow")
    parser.add_argument("--inputs", type=Path, required=True, help="an .npz of the inputs by name")
    parser.add_argument("--signature")
    parser.add_argument("--fetch", nargs="+", default=(), help="tensors of a graph without signatures")
    parser.add_argument("-o", type=Path, required=True, help="the .npz to write")
    add_python(parser)
    args = parser.parse_args()
    with np.load(args.inputs) as inputs:
        job = Job(args.model, dict(inputs), args.signature, tuple(args.fetch))
    with unpacked_release(args.release, package=args.package, python=args.python) as there:
        (answer,) = there.run([job]).answers
    if isinstance(answer, str):
        print(answer, file=sys.stderr)
        return 1
    write_npz(answer, str(args.o))
    return 0


if __name__ == "__main__":
    sys.exit(main())
