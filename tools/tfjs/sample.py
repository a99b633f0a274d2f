"""Draw real models at random, of those that the evidence does not have: one path per line.

    python tools/tfjs/sample.py SEED COUNT

From the packages of `tools/real_models.toml`, at most two models of a package, no checkpoints.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import real_models

EVIDENCE = Path(__file__).parents[2] / "docs/evidence/tfjs.md"
MOST_OF_A_PACKAGE = 2


def sample(seed: int, count: int) -> list[Path]:
    known = EVIDENCE.read_text()
    random_numbers = random.Random(seed)
    pool = []
    for package in real_models.packages():
        fresh = [
            package.folder / path
            for kind, path in package.models
            if kind != "checkpoint" and f"`{package.folder.name}/{path}".rstrip("/") not in known
        ]
        pool += random_numbers.sample(fresh, min(MOST_OF_A_PACKAGE, len(fresh)))
    return sorted(random_numbers.sample(pool, min(count, len(pool))))


if __name__ == "__main__":
    print(*sample(int(sys.argv[1]), int(sys.argv[2])), sep="\n")
