"""Write the recorded models, and what TensorFlow says of them.

    python -m tests.live.record [NAME…]       from the root of the repository; all models unless named

Each goes to `tests/models/NAME`, and `tests/models/expected.json.xz` describes all of them. A model of
which TensorFlow says the same as before is left alone, unless it is named: random ids and the
order of maps make the bytes differ from run to run.
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
    """Write the model into the current folder, and beside it what TensorFlow says."""
    path = models.write(name, Path(name))
    file = str(path.relative_to(name))
    said = {"file": "" if file == "." else file, **facts.facts(path)}
    Path("facts.json").write_text(facts.as_json(said))


def same(name: str, said: dict, before: dict | None) -> bool:
    """Whether two descriptions agree, but for what no two runs share."""
    if before is None or not (OUT / name).exists():
        return False
    # Keras 3 numbers its variables in the order of a set, which is that of their addresses
    return name.startswith("keras_") or {**said, "fingerprint": 0} == {**before, "fingerprint": 0}


def record(name: str, before: dict | None, anew: bool) -> dict:
    """Make one model; keep the old copy where it still says the same."""
    with tempfile.TemporaryDirectory() as folder:
        if not models.in_a_process_of_its_own(Path(folder), describe, name):
            sys.exit(f"{name}: not recorded")
        said = json.loads((Path(folder) / "facts.json").read_text())
        if same(name, said, before) and not anew:
            return before
        shutil.rmtree(OUT / name, ignore_errors=True)
        shutil.copytree(Path(folder) / name, OUT / name)
    print(f"recorded {name}")
    return said


def main(names: list[str]) -> None:
    old = read_json(EXPECTED)["models"] if EXPECTED.exists() else {}
    everything = [build.__name__ for build, _ in models.MODELS]
    told = {name: old[name] for name in everything if name in old}
    for name in names or everything:
        told[name] = record(name, old.get(name), anew=bool(names))
    write_json(EXPECTED, json.loads(facts.as_json({"tensorflow": facts.VERSION, "models": told})))


if __name__ == "__main__":
    main(sys.argv[1:])
