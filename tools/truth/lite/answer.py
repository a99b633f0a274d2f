"""Record the answers of a real interpreter to seeded inputs, beside each .tflite file of a folder.

    python tools/truth/lite/answer.py ENVIRONMENT FOLDER

For MODEL.tflite: MODEL.inputs.npz (inputs 0, 1, … in the order of the first subgraph), MODEL.WAY.npz
(outputs 0, 1, …, and `again.0` … of a second run if that differs: the model has state) and
MODEL.answers.json (what happened in each way). Files that are already recorded are not run again.
"""

import json
import sys
from pathlib import Path

from ask import WAYS, outcomes


def main() -> None:
    environment, folder = Path(sys.argv[1]), Path(sys.argv[2])
    files = [p for p in sorted(folder.rglob("*.tflite")) if not p.with_suffix(".answers.json").exists()]
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
        of_model = recorded.setdefault(outcome.pop("model"), {"environment": environment.name})
        of_model[outcome.pop("way")] = outcome
        if not outcome["ok"]:
            print(folder, outcome["step"], str(outcome["text"])[:150].replace("\n", " "))
    for model, ways in recorded.items():
        Path(model).with_suffix(".answers.json").write_text(json.dumps(ways, indent=1))
    print(f"{len(recorded)} files recorded")


if __name__ == "__main__":
    main()
