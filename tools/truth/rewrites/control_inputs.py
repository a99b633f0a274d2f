"""Run graphs in which nodes wait for transpositions in real releases, and count the crashes.

    python tools/truth/rewrites/control_inputs.py 1.3.0 1.4.0 1.4.1 1.5.0

A session optimizes each graph with the default options, in ten new processes. What a release does is
written down in `check.release_quirks` and tests/check/findings/waiting_programs.py.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[3]))

from jobs import Crash, Job
from release import unpacked_release
from tests.check.findings.waiting_programs import HEAD, PROGRAMS
from tests.recorded_models import graph

from tfport.graph.build import graph_to_def

TIMES = 10
PRODUCER = 23


def main(releases: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        jobs = [job(program, Path(folder, f"{i}.pb")) for i, (program, _) in enumerate(PROGRAMS.values())]
        for release in releases:
            with unpacked_release(release) as there:
                repeated = there.run(jobs, times=TIMES).repeated
            for index, name in enumerate(PROGRAMS):
                answers = [run[index] for run in repeated]
                crashes = sum(isinstance(answer, Crash) for answer in answers)
                refused = {str(a) for a in answers if isinstance(a, str) and not isinstance(a, Crash)}
                print(f"{release:8} {name:32} crashed {crashes} of {TIMES}", *refused, flush=True)


def job(program: str, path: Path) -> Job:
    record = graph_to_def(graph(HEAD + program))
    record.versions.producer = PRODUCER
    path.write_bytes(record.SerializeToString())
    return Job(path, {"x": np.float32([[1, 2], [3, 4]])}, fetches=("y",))


if __name__ == "__main__":
    main(sys.argv[1:])
