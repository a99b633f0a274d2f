"""Record which TensorFlow ops OpenVINO and tf2onnx convert, from their packages.

    python tools/converter_ops.py     (its Python has openvino, openvino-tokenizers and tf2onnx)

OpenVINO gets a graph of one node for every recorded op, and says which it has no conversion rule for; what it
makes of the others does not matter, as the node has neither attributes nor sensible inputs. tf2onnx declares
its ops with `@tf_op`, which is read from its files. Writes `docs/evidence/converter_ops.json`;
`tools/op_table.py` makes the page.
"""

from __future__ import annotations

import ast
import json
import re
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tfport.atlas.atlas import atlas
from tfport.atlas.known_ops import known_ops
from tfport.formats.proto import graph_pb2 as pb

ROOT = Path(__file__).parents[1]
OUT = ROOT / "docs" / "evidence" / "converter_ops.json"
FLOAT = pb.DT_FLOAT
NO_RULE = re.compile(r"no conversion rule found", re.IGNORECASE)


def graph_with(op: str, definition: Any) -> pb.GraphDef:
    """A graph with one node, whose inputs are placeholders."""
    graph = pb.GraphDef(versions={"producer": 2474})
    node = pb.NodeDef(name="node", op=op)
    for index, _ in enumerate(definition.input_arg if definition else ()):
        source = graph.node.add(name=f"input_{index}", op="Placeholder")
        source.attr["dtype"].type = FLOAT
        source.attr["shape"].shape.SetInParent()
        node.input.append(source.name)
    graph.node.append(node)
    return graph


def openvino_ops(ops: list[str]) -> list[str]:
    """The ops that OpenVINO, with its tokenizers, does not say it has no conversion rule for."""
    import openvino_tokenizers
    from openvino.frontend import FrontEndManager

    known = known_ops()
    frontend = FrontEndManager().load_by_framework("tf")
    frontend.add_extension(str(openvino_tokenizers._ext_path))
    supported = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "op.pb")
        for op in ops:
            path.write_bytes(graph_with(op, known.get(op)).SerializeToString())
            try:
                frontend.convert(frontend.load(str(path)))
            except Exception as error:
                if NO_RULE.search(str(error)):
                    continue
            supported.append(op)
    return supported


def tf2onnx_ops() -> Iterator[str]:
    """The names in `@tf_op(…)` of tf2onnx's handlers."""
    folder = Path(find_spec("tf2onnx").origin).parent
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "tf_op" and node.args:
                yield from names_in(node.args[0])


def names_in(node: ast.expr) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def main() -> None:
    ops = sorted(atlas().op_names())
    recorded = set(ops)
    found = {
        "openvino": {"version": version("openvino"), "ops": openvino_ops(ops)},
        "tf2onnx": {"version": version("tf2onnx"), "ops": sorted(recorded & set(tf2onnx_ops()))},
    }
    OUT.write_text(json.dumps(found, indent=1) + "\n")
    print({name: len(lists["ops"]) for name, lists in found.items()})


if __name__ == "__main__":
    main()
