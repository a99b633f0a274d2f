"""Compare how tfport and TensorFlow read every published model.

    python tools/compare_real.py [NAME…]     packages (default: all); exit 1 if any model differs

Needs no TensorFlow: `python -m tests.live.real` recorded its facts beside the models that
`tools/real_models.py` downloaded.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import islice
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))

from tests.graph.canonical import canonical
from tests.model_facts import differences, model_facts

import real_models
import tfport
from tfport.atlas.known_ops import known_ops
from tfport.formats.encoding.message import read_message
from tfport.formats.find import find_model
from tfport.formats.graph_def.signature import GRAPH_DEF, META_GRAPH
from tfport.formats.proto.graph_pb2 import GraphDef
from tfport.formats.proto.saved_model_pb2 import MetaGraphDef
from tfport.formats.saved_model.read import read_saved_model
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.build import graph_from_def, graph_to_def
from tfport.graph.op_signature import OpTable
from tfport.graph.reach import every_node

SHOWN = 5


def compare(model: Path, answer: Path) -> list[str]:
    """Return what differs; an error of tfport is a difference too."""
    if not answer.exists():
        return ["no recorded facts of TensorFlow"]
    try:
        lost = [
            f"graph {i} is not written as it was read" for i, g in enumerate(graphs(model)) if not survives(g)
        ]
        return sorted(differences(json.loads(answer.read_text()), model_facts(model))) + lost
    except tfport.Error as error:
        return [f"tfport fails: {error}"]


def graphs(model: Path) -> list[GraphDef]:
    """Return the graphs of a model as messages."""
    source = find_model(model)
    if source.format is SAVED_MODEL:
        return [meta.graph_def for meta in read_saved_model(source.files, source.name).proto.meta_graphs]
    if source.format is META_GRAPH:
        return [read_message(MetaGraphDef, source.files, source.name).graph_def]
    return [read_message(GraphDef, source.files, source.name)] if source.format is GRAPH_DEF else []


def survives(record: GraphDef) -> bool:
    """Whether a graph is unchanged after reading, decoding all attributes, and writing."""
    graph = graph_from_def(record, OpTable(known_ops()))
    for node in every_node(graph):
        assert node.attrs is not None
    return canonical(graph_to_def(graph)) == canonical(record)


def main(names: list[str]) -> int:
    bad = total = 0
    for package in real_models.packages():
        for kind, path in package.models if not names or package.name in names else ():
            answer = real_models.CACHE / "facts" / package.folder.name / f"{path}.json"
            start = time.perf_counter()
            different = compare(package.folder / path, answer)
            took = time.perf_counter() - start
            print(
                f"{'DIFFERS' if different else 'same'}  {kind}  {package}: {path}  {took:.1f} s", flush=True
            )
            for line in islice(different, SHOWN):
                print(f"    {line[:300]}")
            bad, total = bad + bool(different), total + 1
    print(f"{total - bad} of {total} models read as TensorFlow reads them, and are written as they were read")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
