"""Write the questions about SavedModels that other people published.

    python tools/truth/real_questions.py          writes ~/.cache/tfport/models/questions.json
    python tools/truth/record_python.py 2.8.4 --questions ~/.cache/tfport/models/questions.json \\
        --loaders python --group real --suffix=-python
    python tools/truth/record_capi.py 2.8.4 --questions ~/.cache/tfport/models/questions.json \\
        --group real --suffix=-capi

A signature whose inputs are small is run with zeros and empty strings (an empty
tf.train.Example is one); other models are only loaded.
"""

import json
import sys
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

from capi_tasks import INIT_SIGNATURE, meta_graph

from real_models import CACHE, Package, packages
from tfport.formats.proto.graph_pb2 import DT_STRING
from tfport.formats.proto.saved_model_pb2 import MetaGraphDef, SignatureDef, TensorInfo

QUESTIONS = CACHE / "questions.json"
MOST = 500_000
"""Largest number of elements of an input."""
IMAGE, SIDE = 4, 64
"""The rank of a batch of images, and their size if unknown: networks halve images many times."""


def main() -> None:
    asked = {
        f"{package}: {path}": question(package, path)
        for package in packages()
        for kind, path in package.models
        if kind == "saved_model"
    }
    QUESTIONS.write_text(json.dumps(asked) + "\n")
    print(f"{len(asked)} questions are in {QUESTIONS}")


def question(package: Package, path: str) -> dict[str, Any]:
    folder = package.folder / path
    signatures = (meta_graph(folder) or MetaGraphDef()).signature_def
    asked = {name: s for name, s in signatures.items() if name != INIT_SIGNATURE and is_small(s)}
    return {
        "path": str(folder),
        "about": f"{path} of {package}",
        "signatures": {name: zeros(s) for name, s in sorted(asked.items())},
    }


def is_small(signature: SignatureDef) -> bool:
    """Whether a signature has outputs, and only small dense inputs."""
    inputs = signature.inputs.values()
    plain = all(info.WhichOneof("encoding") == "name" for info in inputs)
    return bool(signature.outputs) and plain and all(prod(sizes(info)) <= MOST for info in inputs)


def zeros(signature: SignatureDef) -> dict[str, Any]:
    """Return zeros or empty strings for each input."""
    return {
        name: np.full(sizes(info), "" if info.dtype == DT_STRING else 0).tolist()
        for name, info in sorted(signature.inputs.items())
    }


def sizes(info: TensorInfo) -> list[int]:
    dims = info.tensor_shape.dim
    defaults = [SIDE if len(dims) == IMAGE and axis in (1, 2) else 1 for axis in range(len(dims))]
    return [dim.size if dim.size >= 0 else size for dim, size in zip(dims, defaults, strict=True)]


if __name__ == "__main__":
    main()
