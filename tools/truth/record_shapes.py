"""Record the shapes that real releases infer for the graphs of tests/truth/inferred_shapes.json.

    python tools/truth/record_shapes.py 1.4.1 2.21.0

Each row of the file is a graph with a node called `node`; a row with `"inferred": {}` is new. A release
that does not have the op, or all of its attributes, has no entry. `tests/graph/op_facts/test_compared.py`
compares the rules of `tfport.graph.op_facts` with the file.
"""

import base64
import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "atlas"))

from records import release_order
from wheels import unpacked

from tfport.atlas.known_ops import known_ops
from tfport.graph.build import graph_to_def
from tfport.graph.op_signature import OpTable
from tfport.graph.parse import parse_graph

FILE = Path(__file__).parents[2] / "tests/truth/inferred_shapes.json"
PROBE = Path(__file__).with_name("shape_probe.py")
PRODUCER = 24
"""The version of the graphs: that of 1.4, so that every release accepts them."""
REFUSED = re.compile(r" for '.*? with input shapes: ", re.DOTALL)
NOT_THERE = re.compile("Op type not registered|NodeDef mentions attr|Value for attr")


def main(releases: list[str]) -> None:
    rows = json.loads(FILE.read_text())
    asked = "".join(f"{definition(row['graph'])}\n" for row in rows)
    for release in releases:
        with unpacked("tensorflow", release) as wheel:
            done = subprocess.run(
                [sys.executable, PROBE, wheel.package], input=asked, capture_output=True, text=True
            )
        if done.returncode:
            sys.exit(done.stderr[-4000:])
        for row, line in zip(rows, done.stdout.splitlines(), strict=True):
            note(row["inferred"], release, json.loads(line))
        FILE.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
        print(release, sum(release in row["inferred"] for row in rows), flush=True)


def definition(text: str) -> str:
    made = graph_to_def(parse_graph(text, OpTable(known_ops())))
    made.versions.producer = PRODUCER
    return base64.b64encode(made.SerializeToString()).decode()


def note(inferred: dict, release: str, answer: list | str) -> None:
    """Note the answer of a release, in the order of releases."""
    inferred.pop(release, None)
    if isinstance(answer, list):
        inferred[release] = answer
    elif refused := REFUSED.search(answer):
        inferred[release] = answer[: refused.start()]
    elif not NOT_THERE.search(answer):
        sys.exit(f"{release}: {answer}")
    ordered = sorted(inferred.items(), key=lambda item: release_order(item[0]))
    inferred.clear()
    inferred.update(ordered)


if __name__ == "__main__":
    main(sys.argv[1:])
