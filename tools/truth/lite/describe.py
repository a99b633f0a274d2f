"""Describe the .tflite files of a folder: ops with versions, types, quantization, custom ops.

    ENVIRONMENT/bin/python tools/truth/lite/describe.py FOLDER     with ai-edge-litert or tensorflow

Writes FOLDER/index.json. The reader is that of the real package, on purpose: it is not tfport's own.
"""

import json
import sys
from pathlib import Path
from typing import Any

try:
    from ai_edge_litert import schema_py_generated as schema
except ImportError:
    from tensorflow.lite.python import schema_py_generated as schema


def names_of(numbers: type) -> dict[int, str]:
    return {v: k for k, v in vars(numbers).items() if isinstance(v, int)}


BUILTINS, TYPES = names_of(schema.BuiltinOperator), names_of(schema.TensorType)


def describe(path: Path) -> dict[str, Any]:
    """Return what a file contains."""
    content = path.read_bytes()
    model = schema.Model.GetRootAsModel(content, 0)
    codes = [model.OperatorCodes(i) for i in range(model.OperatorCodesLength())]
    names = [max(c.BuiltinCode(), c.DeprecatedBuiltinCode()) for c in codes]
    counts: dict[str, int] = {}
    types, per_channel, sparse, dynamic = set(), False, False, False
    for place in range(model.SubgraphsLength()):
        graph = model.Subgraphs(place)
        for i in range(graph.OperatorsLength()):
            index = graph.Operators(i).OpcodeIndex()
            name = BUILTINS.get(names[index], str(names[index]))
            if name == "CUSTOM":
                name = f"custom {codes[index].CustomCode().decode(errors='replace')}"
            key = f"{name} {codes[index].Version()}"
            counts[key] = counts.get(key, 0) + 1
        for i in range(graph.TensorsLength()):
            tensor = graph.Tensors(i)
            types.add(TYPES.get(tensor.Type(), str(tensor.Type())))
            quantization = tensor.Quantization()
            per_channel |= quantization is not None and quantization.ScaleLength() > 1
            sparse |= tensor.Sparsity() is not None
            dynamic |= tensor.ShapeSignatureLength() > 0 and int(min(tensor.ShapeSignatureAsNumpy())) < 0
    return {
        "size": len(content),
        "schema": model.Version(),
        "description": (model.Description() or b"").decode(errors="replace"),
        "subgraphs": model.SubgraphsLength(),
        "signatures": model.SignatureDefsLength(),
        "ops": dict(sorted(counts.items())),
        "types": sorted(types),
        "per_channel": per_channel,
        "sparse": sparse,
        "dynamic": dynamic,
        "metadata": sorted(
            (model.Metadata(i).Name() or b"").decode(errors="replace") for i in range(model.MetadataLength())
        ),
    }


def main() -> None:
    folder = Path(sys.argv[1])
    rows = {}
    for path in sorted(folder.rglob("*.tflite")):
        try:
            rows[str(path.relative_to(folder))] = describe(path)
        except Exception as error:
            rows[str(path.relative_to(folder))] = {"error": f"{type(error).__name__}: {error}"}
    (folder / "index.json").write_text(json.dumps(rows, indent=1))
    print(f"{len(rows)} files")


if __name__ == "__main__":
    main()
