"""Record the answers of a real interpreter to seeded inputs, beside each .tflite file of a folder.

    python tools/truth/lite/answer.py FOLDER ENVIRONMENT [ENVIRONMENT_WITH_FLEX]

For MODEL.tflite: MODEL.inputs.npz (inputs 0, 1, … in the order of the first subgraph), MODEL.WAY.npz
(outputs 0, 1, …, and `again.0` … of a second run if that differs: the model has state) and
MODEL.answers.json (what happened in each way). Models with Flex ops are asked in the second environment.
Files that are already recorded are not run again.
"""

import json
import sys
from pathlib import Path

from ask import WAYS, outcomes


def record(environment: Path, files: list[Path]) -> None:
    tasks = [
        {
            "model": str(path),
            "way": way,
            "inputs": str(path.with_suffix(".inputs.npz")),
            "outputs": str(path.with_suffix(f".{way}.npz")),
        }
        for path in files
        for way in WAYS
    ]
    recorded: dict[str, dict[str, object]] = {}
    for outcome in outcomes(environment, tasks):
        of_model = recorded.setdefault(outcome["model"], {"environment": environment.name})
        of_model[outcome["way"]] = {k: v for k, v in outcome.items() if k not in ("model", "way")}
        if not outcome["ok"]:
            text = " ".join(str(outcome["text"]).split())
            print(Path(outcome["model"]).name, outcome["way"], outcome["step"], text[:110])
        Path(outcome["model"]).with_suffix(".answers.json").write_text(json.dumps(of_model, indent=1))
    print(f"{len(recorded)} files recorded in {environment.name}")


def main() -> None:
    folder, *environments = map(Path, sys.argv[1:])
    files = [p for p in sorted(folder.rglob("*.tflite")) if not p.with_suffix(".answers.json").exists()]
    has_flex = [b"Flex" in path.read_bytes() for path in files]
    record(environments[0], [p for p, flex in zip(files, has_flex, strict=True) if not flex])
    record(environments[-1], [p for p, flex in zip(files, has_flex, strict=True) if flex])


if __name__ == "__main__":
    main()
