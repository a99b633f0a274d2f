"""Write the models of `cases/` to tests/truth/models.tar.xz, and tests/truth/questions.json.

    python tools/truth/make_models.py

Models that pages name become folders in tests/truth/models instead (`tests.truth_models`).
questions.json has for each case the path, what it is about, and the values to feed for
each signature. It includes the SavedModels of tests/models, with small values of their
shapes (`sample_inputs`).
"""

import json
import shutil
import sys
import tempfile
from collections import ChainMap
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))

from capi_tasks import INIT_SIGNATURE
from case_table import Case, cases
from google.protobuf import text_format
from sample_inputs import questions_about_recorded_models
from tests.truth_models import ROOT, TRUTH, read_model, store_models

from tfport.atlas.known_ops import known_ops
from tfport.errors import MalformedGraph
from tfport.formats.checkpoint.write import write_bundle
from tfport.formats.proto import graph_pb2 as pb
from tfport.formats.proto.saved_model_pb2 import AssetFileDef, MetaGraphDef, SavedModel, TensorInfo
from tfport.graph.build import graph_to_def
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.graph import Graph
from tfport.graph.op_signature import OpTable
from tfport.graph.parse import parse_graph
from tfport.graph.parse_attrs import read_attrs
from tfport.graph.tensors import Tensor
from tfport.graph.tokens import Tokens

SERVING = "serving_default"
PRODUCER = 24
"""The GraphDef version of 1.4, which all recorded releases can read."""
CUSTOM = "AcmeZap", "AcmeZip", "Acme>Zap"


def main() -> None:
    todo = cases()
    with tempfile.TemporaryDirectory() as scratch:
        for case in todo:
            write(case, Path(scratch, case.name))
        store_models({case.name: read_model(Path(scratch, case.name)) for case in todo}, TRUTH / "models")
    questions = {case.name: question(case) for case in todo} | questions_about_recorded_models(ROOT)
    rows = [f"{json.dumps(name)}: {json.dumps(question)}" for name, question in sorted(questions.items())]
    (TRUTH / "questions.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")
    print(f"{len(questions)} questions")


def write(case: Case, folder: Path) -> None:
    """Write one SavedModel."""
    folder.mkdir(parents=True)
    saved = SavedModel(saved_model_schema_version=1, meta_graphs=[meta_graph(case)])
    (folder / "saved_model.pb").write_bytes(saved.SerializeToString(deterministic=True))
    if case.checkpoint:
        tensors = {name: tensor(text) for name, text in case.checkpoint.items()}
        arrays = {name: (value.numpy(), value.dtype.number) for name, value in tensors.items()}
        write_bundle(folder / "variables/variables", arrays)
    for name, text in case.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    damage(case, folder)


def damage(case: Case, folder: Path) -> None:
    for name in case.remove:
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, size in case.cut.items():
        (folder / name).write_bytes((folder / name).read_bytes()[:size])
    for name, place in case.flip.items():
        content = bytearray((folder / name).read_bytes())
        content[place] ^= 1
        (folder / name).write_bytes(content)


def question(case: Case) -> dict[str, Any]:
    feeds = {name: listed(tensor(text)) for name, text in case.inputs.items()}
    path = f"tests/truth/models/{case.name}"
    return {"path": path, "about": case.about, "signatures": dict.fromkeys(ends(case), feeds)}


def ends(case: Case) -> dict[str, list[str]]:
    """Return the outputs of each signature."""
    first = {SERVING: case.outputs} if case.outputs else {}
    other = case.other_signature
    return first | ({other["name"]: other["outputs"]} if other else {})


def listed(value: Tensor) -> Any:
    """Return a tensor as nested lists, with bytes as text."""
    array = value.numpy()
    return array.astype(str).tolist() if array.dtype == object else array.tolist()


def tensor(text: str) -> Tensor:
    """Parse a tensor in the notation."""
    value = read_attrs(Tokens(f"{{value={text}}}"))["value"]
    assert isinstance(value, Tensor)
    return value


def meta_graph(case: Case) -> MetaGraphDef:
    graph = parse_graph(placeholders(case) + case.graph, ops())
    graph.rest.versions.producer = PRODUCER
    meta = MetaGraphDef()
    meta.meta_info_def.tags.extend(case.tags)
    meta.graph_def.CopyFrom(rewired(graph_to_def(graph), case))
    add_signatures(meta, case, graph)
    add_startup(meta, case)
    text_format.Merge(case.meta, meta)
    return meta


def ops() -> OpTable:
    """Return every known op, plus custom ops that no release has."""
    custom = {name: pb.OpDef(name=name) for name in CUSTOM}
    for op in custom.values():
        op.input_arg.add(name="x", type_attr="T")
        op.output_arg.add(name="y", type_attr="T")
        op.attr.add(name="T", type="type")
    return OpTable(ChainMap(custom, known_ops()))


def placeholders(case: Case) -> str:
    tensors = {name: tensor(text) for name, text in case.inputs.items()}
    return "".join(
        f"{name} = {case.placeholder}() {{dtype={value.dtype}, shape={value.shape}}}\n"
        for name, value in tensors.items()
    )


def rewired(record: pb.GraphDef, case: Case) -> pb.GraphDef:
    """Set names and inputs of nodes that a `Graph` would refuse."""
    scopes = [("", record.node)] + [(f"{f.signature.name}/", f.node_def) for f in record.library.function]
    for prefix, nodes in scopes:
        for node in nodes:
            if (inputs := case.wiring.get(prefix + node.name)) is not None:
                node.input[:] = inputs
            node.name = case.rename.get(prefix + node.name, node.name)
    return record


def add_signatures(meta: MetaGraphDef, case: Case, graph: Graph) -> None:
    for signature, outputs in ends(case).items():
        record = meta.signature_def[signature]
        record.method_name = "tensorflow/serving/predict"
        for name in case.inputs:
            record.inputs[name].CopyFrom(tensor_info(graph, name, case))
        for name in outputs:
            record.outputs[name.partition(":")[0]].CopyFrom(tensor_info(graph, name, case))
    if case.init_signature:
        record = meta.signature_def[INIT_SIGNATURE]
        record.outputs[INIT_SIGNATURE].CopyFrom(TensorInfo(name=case.init_signature))
        record.outputs[INIT_SIGNATURE].tensor_shape.unknown_rank = True


def tensor_info(graph: Graph, name: str, case: Case) -> TensorInfo:
    dtype = DType.parse(case.signature_types[name]) if name in case.signature_types else dtype_of(graph, name)
    info = TensorInfo(name=name if ":" in name else f"{name}:0", dtype=dtype.number)  # type: ignore[arg-type]
    if name in case.inputs:
        info.tensor_shape.CopyFrom(tensor(case.inputs[name]).shape.to_proto())
    else:
        info.tensor_shape.unknown_rank = True
    return info


def dtype_of(graph: Graph, name: str) -> DType:
    """Return the dtype of a tensor; float32 if the graph does not define it."""
    try:
        dtype = graph.value(name).dtype
    except MalformedGraph:
        dtype = INVALID
    return dtype if dtype != INVALID else DType.parse("float32")


def add_startup(meta: MetaGraphDef, case: Case) -> None:
    """Add what a loader runs and feeds before the first request."""
    for key, op in (("saved_model_main_op", case.main_op), ("legacy_init_op", case.legacy_init_op)):
        if op:
            meta.collection_def[key].node_list.value.append(op)
    if case.saver:
        meta.saver_def.filename_tensor_name = meta.saver_def.save_tensor_name = case.saver_file
        meta.saver_def.restore_op_name = "save/restore_all"
        meta.saver_def.version = meta.saver_def.V2
    for name, filename in case.assets.items():
        asset = AssetFileDef(tensor_info=TensorInfo(name=name), filename=filename)
        meta.asset_file_def.append(asset)
        packed = meta.collection_def["saved_model_assets"].any_list.value.add()
        packed.type_url = "type.googleapis.com/tensorflow.AssetFileDef"
        packed.value = asset.SerializeToString()


if __name__ == "__main__":
    main()
