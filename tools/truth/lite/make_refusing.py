"""Change the operator codes of .tflite files, for models that some or all interpreters refuse.

    ENVIRONMENT/bin/python tools/truth/lite/make_refusing.py FOLDER OUTPUT [COUNT]    with ai-edge-litert

Newer versions of an op, ops of newer releases, numbers beyond the last op, custom ops, Flex ops and other
versions of the schema: one change per file, chosen by a seed.
"""

import random
import sys
from pathlib import Path

import flatbuffers
from ai_edge_litert import schema_py_generated as schema

LARGEST = 200_000
CUSTOM = 32
NEWER = range(100, 210)


def changed(model: schema.ModelT, rng: random.Random) -> str:
    """Change a model in one way; returns what was changed."""
    code = rng.choice(model.operatorCodes)
    kind = rng.choice(["version"] * 5 + ["newer"] * 3 + ["number", "custom", "flex", "schema"])
    if kind == "version":
        code.version += rng.choice([1, 1, 1, 2, 2, 3, 4, 6, 10])
    elif kind == "newer":
        code.builtinCode = rng.choice(NEWER)
        code.deprecatedBuiltinCode, code.version = min(127, code.builtinCode), rng.choice([1, 1, 1, 2, 3])
    elif kind == "number":
        code.builtinCode, code.deprecatedBuiltinCode = rng.choice([210, 211, 250, 1000]), 127
    elif kind == "schema":
        model.version = rng.choice([0, 1, 2, 4])
    else:
        code.builtinCode = code.deprecatedBuiltinCode = CUSTOM
        names = {
            "custom": ["MyOp", "MaxPoolingWithArgmax2D"],
            "flex": ["FlexAddV2", "FlexErf", "FlexNoSuchOp"],
        }
        code.customCode, code.version = rng.choice(names[kind]).encode(), 1
    return kind


def main() -> None:
    folder, output = Path(sys.argv[1]), Path(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    files = [p for p in sorted(folder.rglob("*.tflite")) if p.stat().st_size < LARGEST]
    output.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        rng = random.Random(f"{folder.name} {number}")
        path = rng.choice(files)
        model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(path.read_bytes(), 0))
        kind = changed(model, rng)
        builder = flatbuffers.Builder()
        builder.Finish(model.Pack(builder), b"TFL3")
        (output / f"{number:03}-{kind}-{path.stem}.tflite").write_bytes(bytes(builder.Output()))


if __name__ == "__main__":
    main()
