"""Record what releases do with graphs that Python imports, also with nodes that nothing fetches.

    python tools/truth/record_imported.py RELEASE=PYTHON…       such as 1.15.5=/env/bin/python

Each PYTHON has TensorFlow RELEASE installed (`environments.py` makes such environments). Writes
`tests/truth/imported.json`; `tests/check/test_imported_truth.py` compares `tfport check --fetch` with it.
"""

import base64
import json
import subprocess
import sys
from pathlib import Path

from tfport.atlas.known_ops import known_ops
from tfport.graph.build import graph_to_def
from tfport.graph.op_signature import OpTable
from tfport.graph.parse import parse_graph

HERE = Path(__file__).parent
FILE = HERE.parents[1] / "tests/truth/imported.json"
INPUT = "x = Placeholder() {dtype=float32, shape=(2,)}\ny = Neg(x) {T=float32}\n"
NCCL = '{T=float32, num_devices=1, reduction="sum", shared_name="q"}'
CALL = "z = PartitionedCall(x) {Tin=[float32], Tout=[float32], f=@f}\n"
BODY = "def f(a: float32) -> (r: float32):\n  n = Neg(a) {T=float32}\n  %s\n  return r=n\n"
PROBLEMS = {
    "none": "z = Neg(x) {T=float32}",
    "op": "z = NoSuchOp(x)",
    "attribute": "z = Neg(x) {T=float32, surprise=true}",
    "value": "z = Neg(x) {T=string}",
    "kernel": f"z = NcclAllReduce(x) {NCCL}",
    "device": 'z = Neg(x) {T=float32} @"/device:GPU:0"',
    "op in a called function": CALL + BODY % "m = NoSuchOp(a)",
    "kernel in a called function": CALL + BODY % f"m = NcclAllReduce(a) {NCCL}",
    "op in an uncalled function": BODY % "m = NoSuchOp(a)",
}


def main() -> None:
    recorded = json.loads(FILE.read_text()) if FILE.exists() else {"outcomes": {}}
    recorded["cases"] = cases = dict(make_cases())
    asked = json.dumps({name: question(case) for name, case in cases.items()})
    for pair in sys.argv[1:]:
        release, _, python = pair.partition("=")
        done = subprocess.run(
            [python, HERE / "imported_probe.py"], input=asked, capture_output=True, text=True, check=True
        )
        recorded["outcomes"][release] = json.loads(done.stdout)
    FILE.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")


def make_cases():
    """Yield each problem in a node that is fetched and in one that is not."""
    for problem, text in PROBLEMS.items():
        for fetch in ("y", "z") if "z = " in text else ("y",):
            for config in ("", "pruned"):
                yield (
                    f"{problem}, fetch {fetch}{', ' if config else ''}{config}",
                    {"graph": INPUT + text, "fetches": [f"{fetch}:0"], "config": config},
                )


def question(case: dict) -> dict:
    graph = parse_graph(case["graph"], OpTable(known_ops()))
    encoded = base64.b64encode(graph_to_def(graph).SerializeToString()).decode()
    return {**{key: case[key] for key in ("fetches", "config")}, "graph_def": encoded}


if __name__ == "__main__":
    main()
