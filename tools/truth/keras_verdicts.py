"""Record the verdicts of real releases of Keras on files that real releases saved.

    python tools/truth/keras_verdicts.py OUTCOMES…

Each OUTCOMES is what `keras_corpus/load.py` wrote in one environment, named after it: `keras-3.5.0.jsonl`,
`tensorflow-2.15.1.jsonl`, or `keras-3.5.0+jax.jsonl` for a Keras without TensorFlow. The folder of a file is
the release that saved it. The configurations and the verdicts are added to
tests/check/keras/real_verdicts.json.xz; of weights, the names and shapes in HDF5 files.
"""

import json
import lzma
import sys
from pathlib import Path

from tfport.formats.find import find_model
from tfport.formats.keras.read import read_keras
from tfport.formats.keras.records import BY_LAYER

OUTPUT = Path("tests/check/keras/real_verdicts.json.xz")
MOST = 1e-3
"""The largest difference of answers that is no change of meaning."""
LONGEST = 200
Rows = dict[str, dict[str, object]]


def verdict(row: dict[str, object]) -> list[str]:
    """What happened: `runs`, or the stage that failed with the end of the text."""
    if row["outcome"] != "loads":
        return ["load", f"{row['outcome']}: {row.get('text', '')}"[-LONGEST:]]
    difference = row["difference"]
    if isinstance(difference, str):
        return ["run", difference[:LONGEST]]
    return ["run", f"difference {difference}"] if difference and not difference <= MOST else ["runs"]


def outcomes_of(path: Path) -> Rows:
    """The last row about each file; a file that was never finished has none."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {row["file"]: row for row in rows if row["outcome"] != "crash"}


def stored(path: str) -> dict[str, object]:
    """What the simulated loaders need of a file."""
    location = find_model(path)
    file = read_keras(location.files, location.name)
    weights = file.weights.lists if file.weights is not None and file.weights.layout == BY_LAYER else {}
    return {
        "layout": file.layout,
        "keras_version": file.keras_version,
        "config": file.config,
        "weights": {name: [[w.name, w.shape] for w in stored] for name, stored in weights.items()},
    }


def main(paths: list[str]) -> None:
    record = json.loads(lzma.decompress(OUTPUT.read_bytes())) if OUTPUT.exists() else {}
    for path in map(Path, paths):
        for file, row in outcomes_of(path).items():
            parent = Path(file).parent
            name = f"{parent.name}/{Path(file).name}"
            case = record.setdefault(name, {**stored(file), "verdicts": {}})
            text = json.dumps(verdict(row)).replace(str(parent.parent), "FOLDER")
            case["verdicts"][path.stem] = json.loads(text)
    text = json.dumps(dict(sorted(record.items())), separators=(",", ":"))
    OUTPUT.write_bytes(lzma.compress(text.encode(), preset=9))


if __name__ == "__main__":
    main(sys.argv[1:])
