"""Fuzzing of decision forests: one damaged file among the recorded files of a forest."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tfport.formats.files import MemoryFiles
from tfport.formats.yggdrasil.read import read_forest, read_nodes
from tfport.runtime.ops.forests.forest import Forest

RECORDED = Path(__file__).parent.parent / "tests" / "expected" / "forests.npz"


@cache
def recorded() -> dict[str, Any]:
    with np.load(RECORDED) as arrays:
        return dict(arrays)


def forest_files() -> list[bytes]:
    """Each file of each forest, after a line that says which one it is."""
    return [f"{key}\n".encode() + value.tobytes() for key, value in recorded().items() if "/files/" in key]


def read_forest_file(data: bytes) -> None:
    """Read the forest with this file in place of its own, and ask it."""
    name, _, content = data.partition(b"\n")
    key = name.decode(errors="replace")
    if key not in recorded():
        return
    forest = key.partition("/")[0]
    start = f"{forest}/files/"
    contents = {k.removeprefix(start): v.tobytes() for k, v in recorded().items() if k.startswith(start)}
    contents[key.removeprefix(start)] = content
    files = MemoryFiles(forest, {k: memoryview(v) for k, v in contents.items()})
    model = read_forest(files, "")
    loaded = Forest(model, read_nodes(files, "", "", model))
    inputs = [recorded()[f"{forest}/inputs/{index}"] for index in range(6)]
    loaded.column_names()
    loaded.predict(inputs)
    loaded.leaf_indices(inputs)
