"""Run kernels whose answers differ between releases, and print which releases answer as today's does.

    python tools/truth/rewrites/kernel_answers.py 1.15.5 2.3.4 2.4.4 [--python COMMAND]

The programs are those of tests/check/kernel_programs.py, which has what came of it, as
`check.kernel_differences` has. Today's release is the TensorFlow of .venv-live. A release that does not
register the op prints its message. `--python` is for machines that are not x86-64 (see `release`).
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[3]))

from cases import live_package
from jobs import Answer, Job
from release import Installation, add_python, unpacked_release
from tests.check.kernel_programs import PROGRAMS
from tests.recorded_models import graph

from tfport.graph.build import graph_to_def

PRODUCER = 10


def main() -> None:
    parser = argparse.ArgumentParser(description="Run kernels whose answers differ between releases.")
    parser.add_argument("releases", nargs="+")
    add_python(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        jobs = [job(name, Path(folder)) for name in PROGRAMS]
        expected = Installation(live_package()).run(jobs).answers
        for release in args.releases:
            with unpacked_release(release, python=args.python) as there:
                answers = there.run(jobs).answers
            for name, answer, wanted in zip(PROGRAMS, answers, expected, strict=True):
                print(release, f"{name}:", words(answer, wanted), flush=True)


def job(name: str, folder: Path) -> Job:
    program = PROGRAMS[name]
    record = graph_to_def(graph(program.text))
    record.versions.producer = PRODUCER
    path = folder / f"{name}.pb"
    path.write_bytes(record.SerializeToString())
    return Job(path, program.inputs, fetches=("y",))


def words(answer: Answer, expected: Answer) -> str:
    if isinstance(answer, str):
        return answer[:100]
    if isinstance(expected, str):
        return f"today's release does not answer: {expected[:100]}"
    pairs = [(answer[name].astype(np.float64), expected[name].astype(np.float64)) for name in expected]
    same = all(a.shape == b.shape and np.allclose(a, b, rtol=1e-5, equal_nan=True) for a, b in pairs)
    return "same" if same else f"other: {pairs[0][0].reshape(-1)[:6]}, not {pairs[0][1].reshape(-1)[:6]}"


if __name__ == "__main__":
    main()
