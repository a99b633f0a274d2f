"""Write the recorded models, and TensorFlow's facts about them.

    python -m tests.live.record [NAME…]       from the root of the repository; default: all models

Each goes to `tests/models/NAME`, and `tests/models/expected.json.xz` describes all of them. A model with
the same facts as before is not written again unless it is named: random ids and the order of maps
change its bytes from run to run.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from tests.compact_json import read_json, write_json
from tests.live import facts, models

OUT = Path(__file__).parent.parent / "models"
EXPECTED = OUT / "expected.json.xz"


def describe(name: str) -> None:
    """Write the model and TensorFlow's facts to the current folder."""
    path = models.write(name, Path(name))
    file = str(path.relative_to(name))
    description = {"file": "" if file == "." else file, **facts.facts(path)}
    Path("facts.json").write_text(facts.as_json(description))


def same(name: str, description: dict, before: dict | None) -> bool:
    """Whether two descriptions are equal, except for what differs in every run."""
    if before is None or not (OUT / name).exists():
        return False
    # Keras 3 numbers its variables in the order of a set, which depends on their addresses
    return name.startswith("keras_") or {**description, "fingerprint": 0} == {**before, "fingerprint": 0}


def record(name: str, before: dict | None, anew: bool) -> dict:
    """Write one model; keep the old copy if its facts are the same."""
    with tempfile.TemporaryDirectory() as folder:
        if not models.in_own_process(Path(folder), describe, name):
            sys.exit(f"{name}: recording failed")
        description = json.loads((Path(folder) / "facts.json").read_text())
        if same(name, description, before) and not anew:
            return before
        shutil.rmtree(OUT / name, ignore_errors=True)
        shutil.copytree(Path(folder) / name, OUT / name)
    print(f"recorded {name}")
    return description


def main(names: list[str]) -> None:
    old = read_json(EXPECTED)["models"] if EXPECTED.exists() else {}
    everything = [build.__name__ for build, _ in models.MODELS]
    descriptions = {name: old[name] for name in everything if name in old}
    for name in names or everything:
        descriptions[name] = record(name, old.get(name), anew=bool(names))
    write_json(EXPECTED, json.loads(facts.as_json({"tensorflow": facts.VERSION, "models": descriptions})))


if __name__ == "__main__":
    main(sys.argv[1:])
