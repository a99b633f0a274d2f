"""Record the sentence of each new broken file in sentences.json.

    python -m tests.broken.record [FOLDER]

Prints the sentences that it adds: read them with care. FOLDER, if given, gets the files, to look at them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

SENTENCES = Path(__file__).with_name("sentences.json")


def recorded(group: str) -> dict[str, str]:
    """The sentences of `files`, `checkpoints` or `keras`, by the name of the case."""
    return json.loads(SENTENCES.read_text())[group]


def main(folder: Path) -> None:
    from tests.broken import make_checkpoints, make_files, make_keras

    makers = {"files": make_files, "checkpoints": make_checkpoints, "keras": make_keras}
    sentences = {}
    for group, maker in makers.items():
        known, names = recorded(group), maker.write(folder / group)
        for name in sorted(set(names) - set(known)):
            known[name] = maker.sentence(folder / group / name)
            print(f"{group}/{name}: {known[name]}")
        sentences[group] = {name: known[name] for name in sorted(names)}
    SENTENCES.write_text(json.dumps(sentences, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
