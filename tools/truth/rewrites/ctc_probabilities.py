"""Decode with CTCBeamSearchDecoder in real releases, and print the log probabilities and paths.

    python tools/truth/rewrites/ctc_probabilities.py 1.4.1 1.10.1 1.11.0 1.12.3

Each release runs the graph as it is, and rewritten by `tfport fix` for 1.4.1. What they answer is written
down in `check.release_quirks` and tests/fix/structure/ctc_programs.py.
"""

import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3]))

from jobs import Job
from release import unpacked_release
from tests.fix.structure.ctc_programs import DECODER, FETCHES, LENGTHS, LOGITS
from tests.recorded_models import graph

import tfport
from tfport.graph.build import graph_to_def

PRODUCER = 10
REWRITTEN_FOR = "tensorflow==1.4.1"


def main(releases: list[str]) -> None:
    original = graph_to_def(graph(DECODER))
    original.versions.producer = PRODUCER
    rewritten = tfport.fix(original.SerializeToString(), target=REWRITTEN_FOR, fetches=FETCHES).model.graph
    with tempfile.TemporaryDirectory() as folder:
        records = {"as it is": original, "rewritten": graph_to_def(rewritten)}
        jobs = [job(record, Path(folder, f"{name}.pb")) for name, record in records.items()]
        for release in releases:
            with unpacked_release(release) as there:
                for name, answer in zip(records, there.run(jobs).answers, strict=True):
                    print(release, name, printable(answer), flush=True)


def job(record, path: Path) -> Job:
    path.write_bytes(record.SerializeToString())
    return Job(path, {"x": LOGITS, "lengths": LENGTHS}, fetches=FETCHES)


def printable(answer) -> object:
    return answer if isinstance(answer, str) else [answer[name].tolist() for name in reversed(answer)]


if __name__ == "__main__":
    main(sys.argv[1:])
