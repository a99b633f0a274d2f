"""Run kernels whose answers differ between releases, and print which releases answer as 2.21 does.

    python tools/truth/rewrites/kernel_answers.py 1.15.5 2.3.4 2.4.4

The programs are those of tests/check/kernel_programs.py, which has what came of it, as
`check.kernel_limits` has. A release that does not register the op prints its message.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[3]))

from jobs import Answer, Job
from release import unpacked_release
from tests.check.kernel_programs import PROGRAMS
from tests.recorded_models import graph

from tfport.graph.build import graph_to_def

PRODUCER = 10
REFERENCE = "2.21.0"


def main(releases: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        jobs = [job(name, Path(folder)) for name in PROGRAMS]
        answers = {}
        for release in [REFERENCE, *releases]:
            with unpacked_release(release) as there:
                answers[release] = there.run(jobs).answers
            for name, answer, expected in zip(PROGRAMS, answers[release], answers[REFERENCE], strict=True):
                print(release, name, words(answer, expected), flush=True)


def job(name: str, folder: Path) -> Job:
    program = PROGRAMS[name]
    record = graph_to_def(graph(program.text))
    record.versions.producer = PRODUCER
    path = folder / f"{name}.pb"
    path.write_bytes(record.SerializeToString())
    return Job(path, program.inputs, fetches=["y"])


def words(answer: Answer, expected: Answer) -> str:
    if isinstance(answer, str) or isinstance(expected, str):
        return str(answer)[:100]
    pairs = [(np.asarray(answer[name]), np.asarray(expected[name])) for name in expected]
    same = all(a.shape == b.shape and np.allclose(a, b, rtol=1e-5, equal_nan=True) for a, b in pairs)
    return "same" if same else f"other: {pairs[0][0].reshape(-1)[:6]}, not {pairs[0][1].reshape(-1)[:6]}"


if __name__ == "__main__":
    main(sys.argv[1:])
