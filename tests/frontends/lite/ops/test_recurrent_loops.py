"""GRUs as converters write them: a loop with the cell, which reads and writes rows of tensors."""

import numpy as np
import pytest
from tests.frontends.lite.cases import check, checks, const, graph_case, q
from tests.frontends.lite.graphs import graph, lite_file, op
from tests.runtime.cases import i32, numbers, scalar

import tfport
from tfport.formats.lite.write import lite_bytes
from tfport.runtime.export import export_signature

TIME, IN, H = 5, 3, 4


def _while(*, rows=TIME, hybrid="", activation="TANH", batch=1, dropout=False):
    """A GRU over the rows of `x` that writes each output to a tensor, or always to its only row.

    `hybrid`: the recurrent weights are integers, and the state is rounded in that way.
    """
    shapes = {"i": "INT32", "r": f"FLOAT32 {rows} {batch} {H}", "h": f"FLOAT32 {batch} {H}"}
    shapes["x"] = f"FLOAT32 {TIME} {batch} {IN}"
    ends = {f"{name}_out": shape for name, shape in shapes.items()}
    recurrent = numbers(3 * H, H, seed=2)
    if hybrid:
        recurrent = const(q(np.round(recurrent / 0.02).astype(np.int8), 0.02))
    index = [op("EXPAND_DIMS", "i zero", "at"), op("CONCATENATION", "at minus", "size", axis=0)]
    index += [op("EXPAND_DIMS", "i_out zero", "next"), op("CONCATENATION", "next zeros", "start", axis=0)]
    constant = {"size": i32(0, -1, -1), "start": i32(1, 0, 0)}
    unit = f"FLOAT32 {batch} {H}"
    new = [op(activation, "an", "n")] if activation else []
    masked = [
        op("SHAPE", "row", "shape", out_type="INT32"),
        op("FILL", "shape real", "ones"),
        op("MUL", "row ones", "dropped"),
    ]
    body = graph(
        "i r h x -> i_out r_out h_out x",
        op("ADD", "i one", "i_out"),
        op("GATHER", "x i", "row", axis=0),
        *(masked if dropout else []),
        op("FULLY_CONNECTED", f"{'dropped' if dropout else 'row'} w b", "wx"),
        op("SPLIT", "last wx", "xz xr xn", num_splits=3),
        op("FULLY_CONNECTED", "h u c", "uh", asymmetric_quantize_inputs=hybrid == "asymmetric"),
        op("SPLIT_V", "uh sizes last", "hz hr hn", num_splits=3),
        op("ADD", "xz hz", "az"),
        op("LOGISTIC", "az", "z"),
        op("ADD", "xr hr", "ar"),
        op("LOGISTIC", "ar", "reset"),
        op("MUL", "reset hn", "rn"),
        op("ADD", "xn rn", "an"),
        *new,
        op("MUL", "z h", "left"),
        op("SUB", "real z", "rest"),
        op("MUL", f"rest {'n' if new else 'an'}", "right"),
        op("ADD", "left right", "h_out"),
        *(index if rows == TIME else []),
        op("SLICE", "r begin size", "before"),
        op("SLICE", "r start whole", "after"),
        op("EXPAND_DIMS", "h_out zero", "item"),
        op("CONCATENATION", "before item after", "r_out", axis=0),
        **shapes,
        **{name: shape for name, shape in ends.items() if name != "x_out"},
        row=f"FLOAT32 {batch} {IN}",
        dropped=f"FLOAT32 {batch} {IN}",
        ones=f"FLOAT32 {batch} {IN}",
        shape="INT32 2",
        **dict.fromkeys(("wx", "uh"), f"FLOAT32 {batch} {3 * H}"),
        **dict.fromkeys(("xz", "xr", "xn", "hz", "hr", "hn", "az", "z", "ar", "reset", "rn", "an"), unit),
        **dict.fromkeys(("n", "left", "rest", "right"), unit),
        item=f"FLOAT32 1 {batch} {H}",
        **dict.fromkeys(("before", "after"), f"FLOAT32 {'?' if rows == TIME else 0} {batch} {H}"),
        **(constant if rows != TIME else {"size": "INT32 3", "start": "INT32 3"}),
        at="INT32 1",
        next="INT32 1",
        w=numbers(3 * H, IN, seed=1),
        u=recurrent,
        b=numbers(3 * H, seed=3),
        c=numbers(3 * H, seed=4),
        one=scalar(1),
        real=np.array(1, np.float32),
        zero=scalar(0),
        last=scalar(-1),
        sizes=i32(H, H, -1),
        minus=i32(-1, -1),
        zeros=i32(0, 0),
        begin=i32(0, 0, 0),
        whole=i32(-1, -1, -1),
    )
    condition = graph("i r h x -> less", op("LESS", "i end", "less"), **shapes, less="BOOL", end=scalar(TIME))
    loop = op("WHILE", "i r h x", "i_out r_out h_out x_out", cond_subgraph_index=1, body_subgraph_index=2)
    tensors = {**shapes, **ends, "i": scalar(0), "r": np.zeros((rows, batch, H), np.float32)}
    return lite_file(graph("x h -> r_out h_out", loop, **tensors), condition, body)


def _case(name, *, batch=1, **options):
    feeds = numbers(TIME, batch, IN), numbers(batch, H, seed=5)
    return graph_case(name, _while(batch=batch, **options), *feeds)


LOOPS = {  # the file, and the node of the engine that it becomes
    "all rows": (_while(), "GRU"),
    "last row": (_while(rows=1), "GRU"),
    "without an activation": (_while(activation=""), "GRU"),
    "dropout of nothing": (_while(dropout=True), "GRU"),
    "hybrid": (_while(hybrid="asymmetric"), ""),
    "hybrid, last row": (_while(rows=1, hybrid="asymmetric", activation=""), ""),
    "hybrid, symmetric": (_while(hybrid="symmetric"), ""),
}
CASES = [
    _case("WHILE"),
    _case("WHILE", batch=2),
    _case("WHILE", rows=1),
    _case("WHILE", rows=1, batch=2, dropout=True),
    _case("WHILE", activation=""),
    _case("WHILE", hybrid="asymmetric"),
    _case("WHILE", hybrid="asymmetric", batch=2, rows=1),
    _case("WHILE", hybrid="asymmetric", activation="", rows=1, dropout=True),
    _case("WHILE", hybrid="symmetric"),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_recurrent_loops(c):
    check("recurrent_loops", c)


def _steps(file):
    session = tfport.Session(tfport.load(lite_bytes(file)))
    (signature,) = session.model.signatures.values()
    ends = [
        [t for spec in specs.values() for t in spec.tensors]
        for specs in (signature.outputs, signature.inputs)
    ]
    return session.program(*ends).steps


@pytest.mark.parametrize("name", LOOPS)
def test_what_a_loop_becomes(name):
    file, kind = LOOPS[name]
    steps = _steps(file)
    (layer,) = [step for step in steps if step.op == "GRU"]
    assert layer.is_faster_on_host == (not kind)
    assert {node.op for node in layer.lowered} & {"GRU", "Loop"} == {kind or "Loop"}


def test_a_hybrid_loop_can_be_exported(tmp_path):
    session = tfport.Session(tfport.load(lite_bytes(LOOPS["hybrid"][0])))
    (signature,) = session.model.signatures.values()
    written = export_signature(session, signature, str(tmp_path / "model.onnx"))
    assert "Loop" in {node.op_type for node in written.model.graph.node}
