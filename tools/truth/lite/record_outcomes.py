"""Record what interpreters of many releases do with .tflite files: load and allocate.

    python tools/truth/lite/record_outcomes.py OUTCOMES.json FOLDER… --environments FOLDER

OUTCOMES.json has, by file and by `ENVIRONMENT WAY`, the last step that was tried, whether it succeeded, and
the text of the error. Known outcomes are kept; with `--invoke` files are run too.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from ask import outcomes

STEPS = ["load", "allocate"]
NO_RESOLVERS = (
    "tensorflow-1.",
    "tensorflow-2.0.",
    "tensorflow-2.1.",
    "tensorflow-2.2.",
    "tensorflow-2.3.",
    "tensorflow-2.4.",
)
"""Releases whose Python interface has one way only."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("outcomes", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--environments", type=Path, required=True)
    parser.add_argument("--invoke", action="store_true")
    options = parser.parse_args()
    steps = [*STEPS, "invoke"] if options.invoke else STEPS
    kept: dict[str, dict[str, Any]] = (
        json.loads(options.outcomes.read_text()) if options.outcomes.exists() else {}
    )
    files = [path for folder in options.folders for path in sorted(folder.rglob("*.tflite"))]
    for environment in sorted(options.environments.iterdir()):
        old = environment.name.startswith(NO_RESOLVERS)
        tasks = [
            {"model": str(p), "way": way, "steps": steps, "inputs": str(p.with_suffix(".inputs.npz"))}
            for p in files
            for way in ("default", "plain")
            if f"{environment.name} {way}" not in kept.get(str(p), {}) and not (old and way == "plain")
        ]
        for outcome in outcomes(environment, tasks):
            row = {name: outcome[name] for name in ("step", "ok", "error", "text") if name in outcome}
            kept.setdefault(outcome["model"], {})[f"{environment.name} {outcome['way']}"] = row
        temporary = options.outcomes.with_suffix(".new")
        temporary.write_text(json.dumps(kept, indent=1))
        temporary.rename(options.outcomes)
        refused = sum(
            not row[f"{environment.name} default"]["ok"]
            for row in kept.values()
            if f"{environment.name} default" in row
        )
        print(
            f"{environment.name}: {len(tasks)} questions, {refused} of {len(kept)} files refused", flush=True
        )


if __name__ == "__main__":
    main()
