"""Record TensorFlow's facts about every real model fetched by `tools/real_models.py`.

    python -m tests.live.real [NAME…]       from the root of the repository; what is known is not asked again
    python -m tests.live.real --table       which models TensorFlow loads, and the error where it does not

The answers go beside the models, to `facts/PACKAGE-VERSION/PATH.json` in their cache: what
`facts.facts` says, and under "loads" what `loads.loads` says.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent.parent / "tools"))

from tests.live import facts, loads, models

import real_models

FACTS = real_models.CACHE / "facts"


def answer(package: real_models.Package, path: str) -> Path:
    """Return the file with TensorFlow's facts about a model."""
    return FACTS / package.folder.name / f"{path}.json"


def ask(kind: str, model: Path, out: Path) -> None:
    description = {**facts.facts(model), "loads": loads.loads(kind, model)}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(facts.as_json(description))


def ask_once(package: real_models.Package, kind: str, path: str) -> None:
    out, model = answer(package, path), package.folder / path
    if out.exists() or not model.exists():
        return
    print(f"{package}: {path}", flush=True)
    if not models.in_own_process(Path(tempfile.gettempdir()), ask, kind, model, out):
        print(f"{package}: {path}: failed", flush=True)


def table(chosen: list[real_models.Package]) -> None:
    for package in chosen:
        for kind, path in package.models:
            outcomes = json.loads(answer(package, path).read_text())["loads"]
            print(f"{package}: {path} ({kind})")
            for loader, outcome in outcomes.items():
                print(f"  {loader:18} {outcome}")


def main(names: list[str]) -> None:
    chosen = real_models.packages()
    if names == ["--table"]:
        return table(chosen)
    for package in chosen:
        for kind, path in package.models:
            if not names or package.name in names:
                ask_once(package, kind, path)
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
