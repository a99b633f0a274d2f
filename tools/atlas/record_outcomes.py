"""Record what real releases do with a model.

    python tools/atlas/record_outcomes.py examples/attention 1.13.2 2.8.4 \\
        --inputs '{"words": [["boil", "pasta"]]}'

Each release loads the SavedModel through the C API (`TF_LoadSessionFromSavedModel`)
and, given inputs, runs its signature. The outcomes go to MODEL.recorded.json beside
the model: releases recorded again are replaced, others stay.
"""

import argparse
import hashlib
import json
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
from records import release_order
from wheels import unpacked

from tfport.formats.encoding.tensor import NUMPY
from tfport.formats.proto.graph_pb2 import DT_STRING
from tfport.formats.proto.saved_model_pb2 import SavedModel, SignatureDef

SESSION = Path(__file__).with_name("session.py")
TAGS = ["serve"]
FAILS = {"load": "fails at load", "run": "fails at run", "process": "ends the process"}


def main() -> None:
    args = arguments()
    model = args.model.resolve()
    signature = signature_of(model, args.signature)
    outcomes = OutcomeFile(model, args.signature, args.inputs)
    for release in args.releases:
        outcome = record(model, release, signature, args.inputs, shlex.split(args.python))
        print(f"{release}: {outcome['outcome']}. {outcome['says']}", flush=True)
        outcomes.add(outcome)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("releases", nargs="+")
    parser.add_argument("--signature", default="serving_default")
    parser.add_argument(
        "--inputs", type=json.loads, default={}, help="inputs of the signature by name, as JSON"
    )
    parser.add_argument("--python", default=sys.executable, help="command that runs an x86-64 Python")
    return parser.parse_args()


def signature_of(model: Path, name: str) -> SignatureDef:
    saved = SavedModel.FromString((model / "saved_model.pb").read_bytes())
    graph = next(g for g in saved.meta_graphs if list(g.meta_info_def.tags) == TAGS)
    return graph.signature_def[name]


def record(model: Path, release: str, signature: SignatureDef, inputs: dict, python: list[str]) -> dict:
    """Load and run a model on one release; return the outcome."""
    with unpacked("tensorflow", release) as wheel:
        answer = ask([*python, SESSION, wheel.package, model], question(signature, inputs))
    answers = answer["answers"]
    return {
        "release": release,
        "wheel": wheel.name,
        "sha256": wheel.sha256,
        "outcome": FAILS.get(answer["stage"]) or ("runs" if inputs else "loads"),
        "says": normalize(answer["says"], model),
        "outputs": {n: from_tensor(*answers[o.name]) for n, o in signature.outputs.items() if answers},
    }


def question(signature: SignatureDef, inputs: dict) -> dict:
    """Return the question for `session`: tensors by name."""
    feeds = ((signature.inputs[name], value) for name, value in inputs.items())
    return {
        "tags": TAGS,
        "feeds": {place.name: to_tensor(place.dtype, value) for place, value in feeds},
        "fetches": [output.name for output in signature.outputs.values()] if inputs else [],
    }


def ask(command: list, question: dict) -> dict:
    """Run `session`; return its answer, or the end of the log if TensorFlow crashed."""
    done = subprocess.run(command, input=json.dumps(question).encode(), capture_output=True)
    log = done.stderr.decode(errors="replace")
    if done.returncode > 0:  # not a signal: `session` itself failed
        sys.exit(log)
    if done.returncode < 0:
        return {"stage": "process", "says": log[-1000:], "answers": {}}
    return json.loads(done.stdout.splitlines()[-1])


def to_tensor(dtype: int, value: list) -> list:
    array = np.array(value, object if dtype == DT_STRING else NUMPY[dtype])
    return [dtype, list(array.shape), array.ravel().tolist()]


def from_tensor(dtype: int, shape: list[int], elements: list) -> list:
    return np.array(elements).reshape(shape).tolist()


def normalize(message: str, model: Path) -> str:
    """Remove from a message what is specific to this machine."""
    return message.replace(str(model), "MODEL").replace(f" on {socket.gethostname()}", " on HOST")


def digests(model: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a model."""
    files = sorted(path for path in model.rglob("*") if path.is_file())
    return {str(f.relative_to(model)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


class OutcomeFile:
    """The file of outcomes, sorted by release; it starts empty for another model or question."""

    def __init__(self, model: Path, signature: str, inputs: dict) -> None:
        self.path = model.with_name(f"{model.name}.recorded.json")
        self.asked = {
            "model": digests(model),
            "loader": "TF_LoadSessionFromSavedModel",
            "signature": signature,
            "inputs": inputs,
        }
        before = json.loads(self.path.read_text()) if self.path.exists() else {}
        same = all(before.get(key) == value for key, value in self.asked.items())
        self.outcomes = before["outcomes"] if same else []

    def add(self, outcome: dict) -> None:
        """Add or replace an outcome, and write all of them, one per line."""
        others = [o for o in self.outcomes if o["release"] != outcome["release"]]
        self.outcomes = sorted([*others, outcome], key=lambda o: release_order(o["release"]))
        head = json.dumps({**self.asked, "outcomes": []}).removesuffix("]}")
        self.path.write_text(head + "\n" + ",\n".join(map(json.dumps, self.outcomes)) + "\n]}\n")


if __name__ == "__main__":
    main()
