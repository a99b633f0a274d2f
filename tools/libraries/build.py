"""Build the op libraries of tests/libraries, one for each way to load or fail to load.

    python tools/libraries/build.py             all of them
    python tools/libraries/build.py good old_abi

It needs g++, a compiler for ARM64 and, once, the wheels of a few releases (`releases`).
`record_library_outcomes.py` records what real TensorFlow does with each.
"""

import shutil
import sys
from pathlib import Path

from file_cases import FILES, PATHS
from op_cases import NEEDED, REGISTRATION, SYMBOLS, VERSIONS

CASES = REGISTRATION | SYMBOLS | VERSIONS | NEEDED | FILES | PATHS
LIBRARIES = Path(__file__).parents[2] / "tests/libraries"


def main(names: list[str]) -> None:
    for name in names or CASES:
        steps = CASES[name].steps
        folder = LIBRARIES / name
        if steps:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        for step in steps:
            step(folder)
        print(name, *(f"{f.name} {f.stat().st_size}" for f in folder.rglob("*.so*")), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
