"""Small models for a first look, written when the page asks for them."""

from __future__ import annotations

from pathlib import Path

from tfport.atlas.known_ops import known_ops
from tfport.formats.files import Folder
from tfport.formats.graph_def.signature import GRAPH_DEF
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.model import Model
from tfport.graph.op_signature import OpTable
from tfport.graph.parse import parse_graph
from tfport.graph.save import save_model

EXAMPLES = {
    "attention.pb": """
        query = Placeholder() {dtype=float32, shape=(?, 8, 16)}
        key = Placeholder() {dtype=float32, shape=(?, 8, 16)}
        value = Placeholder() {dtype=float32, shape=(?, 8, 16)}
        attention/scores/MatMul = BatchMatMulV2(query, key) {T=float32, adj_x=false, adj_y=true}
        attention/scores/scale = Const() {dtype=float32, value=float32()[0.25]}
        attention/scores/mul = Mul(attention/scores/MatMul, attention/scores/scale) {T=float32}
        attention/Softmax = Softmax(attention/scores/mul) {T=float32}
        attention/MatMul = BatchMatMulV2(attention/Softmax, value) {T=float32, adj_x=false, adj_y=false}
        output = Identity(attention/MatMul) {T=float32}
    """,
    "image_block.pb": """
        image = Placeholder() {dtype=float32, shape=(?, 32, 32, 3)}
        block/kernel = Const() {dtype=float32, value=float32(1, 1, 3, 2)[0.5, -0.5, 0.25, 1.0, 0.125, 0.75]}
        one = Const() {dtype=float32, value=float32(2,)[1.0, 1.0]}
        zero = Const() {dtype=float32, value=float32(2,)[0.0, 0.0]}
        block/Conv2D = Conv2D(image, block/kernel) {T=float32, padding="SAME", strides=[1, 2, 2, 1]}
        block/norm = FusedBatchNormV3(block/Conv2D, one, zero, zero, one) {T=float32, U=float32}
        block/Relu6 = Relu6(block/norm) {T=float32}
        pool/axes = Const() {dtype=int32, value=int32(2,)[1, 2]}
        pool/Mean = Mean(block/Relu6, pool/axes) {T=float32, Tidx=int32, keep_dims=false}
        probabilities = Softmax(pool/Mean) {T=float32}
    """,
    "vocabulary.pb": """
        words = Placeholder() {dtype=string, shape=(?,)}
        table/keys = Const() {dtype=string, value=string(3,)["the", "river", "bank"]}
        table/values = Const() {dtype=int64, value=int64(3,)[1, 2, 3]}
        table/default = Const() {dtype=int64, value=int64()[0]}
        table/hash_table = HashTableV2() {key_dtype=string, value_dtype=int64}
        table/init = LookupTableImportV2(table/hash_table, table/keys, table/values) {Tin=string, Tout=int64}
        lower = StringLower(words) {encoding=""}
        ids = LookupTableFindV2(table/hash_table, lower, table/default, ^table/init) {Tin=string, Tout=int64}
    """,
}
"""GraphDefs in the notation of tfport, by file name."""


def write_examples(folder: Path) -> list[Path]:
    """Write the examples that are not there yet; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in EXAMPLES.items():
        path = folder / name
        if not path.exists():
            lines = "\n".join(line.strip() for line in text.strip().splitlines())
            graph = parse_graph(lines, OpTable(known_ops()))
            save_model(Model(name, GRAPH_DEF, Folder(folder), graph, pb.MetaGraphDef()), str(path))
        paths.append(path)
    return paths
