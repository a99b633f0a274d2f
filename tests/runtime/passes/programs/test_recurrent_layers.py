"""Loops with a recurrent cell become one node with TensorFlow's outputs; so does CudnnRNN."""

import numpy as np
import pytest
from tests.recorded_models import graph
from tests.runtime.cases import check, checks, graph_case, numbers, recorded

import tfport
from tfport.errors import RunFailed
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import encode
from tfport.graph.build import graph_to_def
from tfport.graph.dtypes import FLOAT32, INT32
from tfport.graph.tensors import Tensor

IN, H = 3, 2
X = numbers(5, 2, IN)
H0, C0 = numbers(2, H, seed=1), numbers(2, H, seed=2)


def const(name, array, indent=6):
    values = ", ".join(repr(float(v)) for v in array.reshape(-1))
    dims = "".join(f"{n}, " for n in array.shape)
    return f"{' ' * indent}{name} = Const() {{dtype=float32, value=float32({dims.rstrip()})[{values}]}}\n"


def loop(body, states, weights, *, masked=False, lengths=False, item="new_h"):
    """A loop over the rows of `x`: lines that make `new_h` (and `new_c`) of `row` and the states.

    With a mask, a step keeps the states `h`, `c` and the output before, `p`, where it is masked.
    With lengths, a sequence keeps its states after its end, and its outputs are zero: as in TF1,
    which compares the time with the lengths once per state.
    """
    types = ["int32", "int32", "variant", "variant", "variant", *["float32"] * len(states), "int32"]
    args = ", ".join(
        f"{name}: {t}" for name, t in zip(("i", "n", "l", "lm", "out", *states, "k"), types, strict=True)
    )
    ends = ", ".join(f"r{k}: {t}" for k, t in enumerate(types))
    lines = "".join(f"      {line.strip()}\n" for line in body.strip().splitlines())
    new = {s: f"new_{s}" for s in states}
    if masked:
        lines += "      now = TensorListGetItem(lm, i, any) {element_dtype=bool}\n"
        for s in states:
            of = "h" if s == "p" else s
            lines += f"      kept_{s} = SelectV2(now, new_{of}, {s}) {{T=float32}}\n"
        new = {s: f"kept_{s}" for s in states}
    if lengths:
        lines += const("zeros", np.zeros((2, H)))
        for s, kept, other in (("item", "zeros", item), *((s, s, f"new_{s}") for s in states)):
            lines += f"      done_{s} = GreaterEqual(i, k) {{T=int32}}\n"
            lines += f"      shown_{s} = Select(done_{s}, {kept}, {other}) {{T=float32}}\n"
        new, item = {s: f"shown_{s}" for s in states}, "shown_item"
    element, listed = "{element_dtype=float32}", "{element_dtype=float32, shape_type=int32}"
    state = ", ".join(["zero", "n", "l", "lm", "r", *(f"{s}0" for s in states), "k"])
    ends_of_states = "".join(f", r{5 + k}={new[s]}" for k, s in enumerate(states))
    fed = "".join(f"    {s}0 = Placeholder() {{dtype=float32, shape=(?, {H})}}\n" for s in states)
    return f"""
    x = Placeholder() {{dtype=float32, shape=(?, ?, {IN})}}
    m = Placeholder() {{dtype=bool, shape=(?, ?, 1)}}
    n = Placeholder() {{dtype=int32, shape=()}}
    k = Placeholder() {{dtype=int32, shape=(?)}}
{fed}    any = Const() {{dtype=int32, value=int32()[-1]}}
    zero = Const() {{dtype=int32, value=int32()[0]}}
    l = TensorListFromTensor(x, any) {listed}
    lm = TensorListFromTensor(m, any) {{element_dtype=bool, shape_type=int32}}
    r = TensorListReserve(any, n) {listed}
    w = StatelessWhile({state}) {{T=[{", ".join(types)}], cond=@go, body=@turn}}
    y = TensorListStack(w:4, any) {element}
    def go({args}) -> (c: bool):
      c1 = Less(i, n) {{T=int32}}
      return c=c1
    def turn({args}) -> ({ends}):
      one = Const() {{dtype=int32, value=int32()[1]}}
      axis = Const() {{dtype=int32, value=int32()[1]}}
      real = Const() {{dtype=float32, value=float32()[1.0]}}
      any = Const() {{dtype=int32, value=int32()[-1]}}
      j = AddV2(i, one) {{T=int32}}
      row = TensorListGetItem(l, i, any) {element}
{"".join(const(name, array) for name, array in weights.items())}{lines}
      set = TensorListSetItem(out, i, {new.get("p", item)}) {element}
      return r0=j, r1=n, r2=l, r3=lm, r4=set{ends_of_states}, r{len(types) - 1}=k
"""


def weights(gates, *, biases=1):
    made = {"w": numbers(IN, gates * H, seed=3), "r": numbers(H, gates * H, seed=4)}
    made.update({f"b{k}": numbers(gates * H, seed=5 + k) for k in range(biases)})
    return made


F = "{T=float32}"
LSTM = f"""
    wx = MatMul(row, w) {F}
    rh = MatMul(h, r) {F}
    sum = AddV2(wx, rh) {F}
    z = BiasAdd(sum, b0) {F}
    s = Split(axis, z) {{T=float32, num_split=4}}
    si = Sigmoid(s) {F}
    sf = Sigmoid(s:1) {F}
    tg = Tanh(s:2) {F}
    so = Sigmoid(s:3) {F}
    fc = Mul(sf, c) {F}
    ig = Mul(si, tg) {F}
    new_c = AddV2(fc, ig) {F}
    tc = Tanh(new_c) {F}
    new_h = Mul(so, tc) {F}
"""
OF_TF1 = f"""
    both = ConcatV2(row, h, axis) {{T=float32, N=2, Tidx=int32}}
    product = MatMul(both, wr) {F}
    z = BiasAdd(product, b0) {F}
    s = Split(axis, z) {{T=float32, num_split=4}}
    more = AddV2(s:2, real) {F}
    sf = Sigmoid(more) {F}
    fc = Mul(c, sf) {F}
    si = Sigmoid(s) {F}
    tg = Tanh(s:1) {F}
    ig = Mul(si, tg) {F}
    new_c = AddV2(fc, ig) {F}
    tc = Tanh(new_c) {F}
    so = Sigmoid(s:3) {F}
    new_h = Mul(tc, so) {F}
"""
GRU = f"""
    wx = MatMul(row, w) {F}
    zx = BiasAdd(wx, b0) {F}
    sx = Split(axis, zx) {{T=float32, num_split=3}}
    rh = MatMul(h, r) {F}
    zh = BiasAdd(rh, b1) {F}
    sh = Split(axis, zh) {{T=float32, num_split=3}}
    az = AddV2(sx, sh) {F}
    z = Sigmoid(az) {F}
    ar = AddV2(sx:1, sh:1) {F}
    reset = Sigmoid(ar) {F}
    rn = Mul(reset, sh:2) {F}
    an = AddV2(sx:2, rn) {F}
    new = Tanh(an) {F}
    left = Mul(z, h) {F}
    rest = Sub(real, z) {F}
    right = Mul(rest, new) {F}
    new_h = AddV2(left, right) {F}
"""
RESET_BEFORE = f"""
    both = ConcatV2(row, h, axis) {{T=float32, N=2, Tidx=int32}}
    gates = MatMul(both, wg) {F}
    biased = BiasAdd(gates, bg) {F}
    values = Sigmoid(biased) {F}
    s = Split(axis, values) {{T=float32, num_split=2}}
    rh = Mul(s, h) {F}
    other = ConcatV2(row, rh, axis) {{T=float32, N=2, Tidx=int32}}
    product = MatMul(other, wc) {F}
    new = Tanh(product) {F}
    left = Mul(s:1, h) {F}
    rest = Sub(real, s:1) {F}
    right = Mul(rest, new) {F}
    new_h = AddV2(left, right) {F}
"""
PLAIN = f"""
    wx = MatMul(row, w) {F}
    z = BiasAdd(wx, b0) {F}
    rh = MatMul(h, r) {F}
    sum = AddV2(z, rh) {F}
    new_h = Relu(sum) {F}
"""
PEEPHOLES = (
    LSTM.replace("Sigmoid(s)", "Sigmoid(zi)").replace("Sigmoid(s:3)", "Sigmoid(zo)")
    + f"""
    pi = Mul(b1, c) {F}
    zi = AddV2(s, pi) {F}
    po = Mul(new_c, b2) {F}
    zo = AddV2(po, s:3) {F}
"""
)
COUPLED = LSTM.replace("Sigmoid(s)", "Sub(real, sf)")
RELU = LSTM.replace("tg = Tanh", "tg = Relu").replace("tc = Tanh", "tc = Relu")
HARD = "".join(
    f"""
    m{gate} = Mul({source}, slope) {F}
    a{gate} = AddV2(m{gate}, half) {F}
    u{gate} = Minimum(real, a{gate}) {F}
    s{gate} = Maximum(u{gate}, none) {F}
"""
    for gate, source in {"i": "s", "f": "s:1", "o": "s:3"}.items()
)
HARD_SIGMOID = HARD + "".join(f"{line}\n" for line in LSTM.splitlines() if "Sigmoid" not in line)
RELU6 = "".join(
    f"""
    a{gate} = AddV2(three, {source}) {F}
    u{gate} = Relu6(a{gate}) {F}
    s{gate} = RealDiv(u{gate}, six) {F}
"""
    for gate, source in {"i": "s", "f": "s:1", "o": "s:3"}.items()
)
HARD_SIGMOID_3 = RELU6 + "".join(f"{line}\n" for line in LSTM.splitlines() if "Sigmoid" not in line)
SECOND = f"""
    gx = MatMul(new_h, w2) {F}
    gr = MatMul(g, r2) {F}
    gs = AddV2(gx, gr) {F}
    new_g = Tanh(gs) {F}
    both_layers = AddV2(new_h, new_g) {F}
"""
JOINED = {"wr": numbers(IN + H, 4 * H, seed=6), "b0": numbers(4 * H, seed=7)}
GATED = {"wg": numbers(IN + H, 2 * H, seed=6), "bg": numbers(2 * H, seed=7), "wc": numbers(IN + H, H, seed=8)}
DIAGONAL = {**weights(4), "b1": numbers(H, seed=10), "b2": numbers(H, seed=11)}
LINE = {**weights(4), "slope": np.array(0.2), "half": np.array(0.5), "none": np.array(0.0)}
SIXTH = {**weights(4), "three": np.array(3.0), "six": np.array(6.0)}
TWO = {**weights(4), "w2": numbers(H, H, seed=12), "r2": numbers(H, H, seed=13)}
LOOPS = {  # the node that the loop becomes
    "lstm": (loop(LSTM, "hc", weights(4)), "LSTM"),
    "lstm of tf1": (loop(OF_TF1, "ch", JOINED), "LSTM"),
    "gru": (loop(GRU, "h", weights(3, biases=2)), "GRU"),
    "gru of tf1": (loop(RESET_BEFORE, "h", GATED), "GRU"),
    "plain": (loop(PLAIN, "h", weights(1)), "RNN"),
    "masked": (loop(LSTM, "hcp", weights(4), masked=True), "LSTM"),
    "relu": (loop(RELU, "hc", weights(4)), "LSTM"),
    "softsign": (loop(LSTM.replace("tc = Tanh", "tc = Softsign"), "hc", weights(4)), "LSTM"),
    "hard sigmoid": (loop(HARD_SIGMOID, "hc", LINE), "LSTM"),
    "hard sigmoid of keras 3": (loop(HARD_SIGMOID_3, "hc", SIXTH), "LSTM"),
    "gru with relu": (loop(GRU.replace("new = Tanh", "new = Relu"), "h", weights(3, biases=2)), "GRU"),
    "peepholes": (loop(PEEPHOLES, "hc", DIAGONAL), "LSTM"),
    "coupled gates": (loop(COUPLED, "hc", weights(4)), "LSTM"),
    "lengths": (loop(LSTM, "hc", weights(4), lengths=True), "LSTM"),
    "two layers": (loop(LSTM + SECOND, "hcg", TWO, item="new_g"), "LSTM RNN"),
    "residual": (loop(LSTM + SECOND, "hcg", TWO, item="both_layers"), "LSTM RNN"),
    "residual with lengths": (
        loop(LSTM + SECOND, "hcg", TWO, item="both_layers", lengths=True), "LSTM RNN"
    ),
    # each of these is nearly one, and must stay a loop
    "another activation": (loop(LSTM.replace("tc = Tanh", "tc = Softplus"), "hc", weights(4)), "Loop"),
    "another slope": (loop(HARD_SIGMOID.replace("Mul(s:3, slope)", "Mul(s:3, half)"), "hc", LINE), "Loop"),
    "gates of the output": (loop(LSTM.replace("Sigmoid(s:3)", "Tanh(s:3)"), "hc", weights(4)), "Loop"),
    "forgets another": (loop(LSTM.replace("Mul(sf, c)", "Mul(sf, h)"), "hc", weights(4)), "Loop"),
    "adds what it keeps": (loop(GRU.replace("Sub(real", "AddV2(real"), "h", weights(3, biases=2)), "Loop"),
}  # fmt: skip


FED = {"h0": H0, "c0": C0, "p0": numbers(2, H, seed=9), "g0": numbers(2, H, seed=14)}


def states_of(name):
    return [state for state in FED if f"{state} = " in LOOPS[name][0]]


def over(name, steps, mask=None, lengths=(5, 2)):
    fed_states = {state: FED[state] for state in states_of(name)}
    fetches = ["y:0", "w:0", *(f"w:{5 + k}" for k in range(len(fed_states)))]
    turns = np.array(steps, np.int32)
    shown = np.ones((5, 2, 1), bool) if mask is None else np.array(mask, bool).T[..., None]
    return graph_case(
        LOOPS[name][0], fetches=fetches, name=name.replace(" ", "_"), x=X, m=shown, n=turns,
        k=np.array(lengths, np.int32), **fed_states
    )  # fmt: skip


PADDING = [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]
NOTHING = [[1, 1, 0, 0, 0], [0, 0, 0, 0, 0]]
GAPS = [[1, 0, 1, 1, 0], [0, 1, 1, 1, 1]]
CASES = [over(name, 5) for name in LOOPS] + [over("lstm", 3), over("gru", 1)]
CASES += [over(name, 5, lengths=(0, 9)) for name in ("lengths", "residual with lengths")]
CASES += [over("masked", 5, mask) for mask in (PADDING, NOTHING, GAPS)] + [over("masked", 4, PADDING)]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_recurrent(c, ways):
    check("recurrent", c, ways)


@pytest.mark.parametrize("name", LOOPS)
def test_what_a_loop_becomes(name):
    text, kind = LOOPS[name]
    session = tfport.Session(tfport.load(graph_to_def(graph(text)).SerializeToString()))
    program = session.program(["y:0"], ["x:0", "m:0", "n:0", "k:0", *(f"{s}:0" for s in states_of(name))])
    ops = {node.op for step in program.steps for node in step.lowered or ()}
    assert ops & {"LSTM", "GRU", "RNN", "Loop", "If"} == {*kind.split()}


@pytest.mark.parametrize("name", ["lstm", "gru", "gru of tf1"])
@pytest.mark.parametrize("engine", ["onnxruntime", "none"])
def test_without_iterations_the_states_are_the_initial_ones(name, engine):
    text = LOOPS[name][0]
    session = tfport.Session(tfport.load(graph_to_def(graph(text)).SerializeToString()), engine=engine)
    states = {state: FED[state] for state in states_of(name)}
    feeds = {
        "x:0": X,
        "m:0": np.ones((5, 2, 1), bool),
        "n:0": np.int32(0),
        "k:0": np.zeros(2, np.int32),
        **{f"{state}:0": array for state, array in states.items()},
    }
    last = session.run([f"w:{5 + k}" for k in range(len(states))], feeds)
    for array, first in zip(last, states.values(), strict=True):
        assert np.array_equal(array, first)
    with pytest.raises(tfport.Error):
        session.run(["w:5"], {**feeds, "n:0": np.int32(6)})


@pytest.mark.parametrize("name", ["lstm", "gru"])
@pytest.mark.parametrize("engine", ["onnxruntime", "none"])
def test_rows_that_do_not_fit_the_weights_are_an_error_that_names_the_node(name, engine):
    text, kind = LOOPS[name]
    session = tfport.Session(tfport.load(graph_to_def(graph(text)).SerializeToString()), engine=engine)
    feeds = {f"{key}:0": value for key, value in over(name, 5).feeds.items()}
    with pytest.raises(RunFailed, match=rf"`.+` \({kind}\): matmul: .*size"):
        session.run(["y:0"], {**feeds, "x:0": numbers(5, 2, IN + 1)}, any_shape=True)


def with_unusual(name, place, number):
    """The outputs with a number in the second row of the batch, by the engine and on the host."""
    case = over(name, 5)
    changed = case.feeds[place].copy()
    changed[..., 1, :2] = number
    feeds = {f"{key}:0": value for key, value in {**case.feeds, place: changed}.items()}
    content = graph_to_def(graph(LOOPS[name][0])).SerializeToString()
    engines = ("onnxruntime", "none")
    return [tfport.Session(tfport.load(content), engine=e).run(["y:0", "w:5"], feeds) for e in engines]


@pytest.mark.parametrize("name", ["lstm", "gru"])
@pytest.mark.parametrize("place", ["x", "h0"])
def test_nan_is_not_dropped(name, place):
    rows, last = with_unusual(name, place, np.nan)[0]
    for array in (rows, last):
        assert np.isnan(array[..., 1, :]).all()
        assert not np.isnan(array[..., 0, :]).any()


@pytest.mark.parametrize("name", ["lstm", "gru"])
@pytest.mark.parametrize("place", ["x", "h0"])
@pytest.mark.parametrize("number", [np.inf, -np.inf, 3e38])
def test_infinities_have_the_answers_of_the_host(name, place, number):
    ours, exact = with_unusual(name, place, number)
    for array, expected in zip(ours, exact, strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-5, atol=1e-6)


def one_node(op, inputs, params, lengths=None, **attrs):
    made = pb.GraphDef()
    node = pb.NodeDef(name="node", op=op, input=[*inputs, "params"])
    if lengths is not None:
        node.input.append("lengths")
        added = made.node.add(name="lengths", op="Const")
        added.attr["dtype"].type = 3
        added.attr["value"].tensor.CopyFrom(Tensor.from_numpy(np.array(lengths, np.int32), INT32).to_proto())
    node.attr["T"].type = 1
    for name, value in attrs.items():
        node.attr[name].CopyFrom(encode(value))
    for name, array in inputs.items():
        added = made.node.add(name=name, op="Placeholder")
        added.attr["dtype"].type = 1
        for size in array.shape:
            added.attr["shape"].shape.dim.add(size=size)
    added = made.node.add(name="params", op="Const")
    added.attr["dtype"].type = 1
    added.attr["value"].tensor.CopyFrom(Tensor.from_numpy(params, FLOAT32).to_proto())
    made.node.append(node)
    return tfport.load(made.SerializeToString())


@pytest.mark.parametrize("engine", ["onnxruntime", "none"])
@pytest.mark.parametrize(
    ("name", "mode", "order"), [("lstm", "lstm", (0, 1, 2, 3)), ("gru", "gru", (1, 0, 2))]
)
def test_cudnn_has_the_same_outputs_as_the_loop(name, mode, order, engine):
    expected = recorded("recurrent", over(name, 5))
    made = weights(len(order), biases=2)
    if mode == "lstm":
        made["b1"] = np.zeros_like(made["b0"])
    parts = [np.split(made[k], len(order), axis=-1) for k in ("w", "r", "b0", "b1")]
    params = np.concatenate([gates[place].T.reshape(-1) for gates in parts for place in order])
    inputs = {"input": X, "input_h": H0[None], "input_c": C0[None]}
    model = one_node("CudnnRNN", inputs, params, rnn_mode=mode, is_training=False)
    session = tfport.Session(model, engine=engine)
    y, h, c = session.run(["node:0", "node:1", "node:2"], {f"{k}:0": v for k, v in inputs.items()})
    np.testing.assert_allclose(y, expected[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(h[0], expected[2], rtol=1e-5, atol=1e-6)
    if mode == "lstm":
        np.testing.assert_allclose(c[0], expected[3], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("engine", ["onnxruntime", "none"])
def test_cudnn_keeps_the_state_of_a_sequence_without_steps(engine):
    made = weights(4, biases=2)
    parts = [np.split(made[k], 4, axis=-1) for k in ("w", "r", "b0", "b1")]
    params = np.concatenate([gate.T.reshape(-1) for gates in parts for gate in gates])
    inputs = {"input": X, "input_h": H0[None], "input_c": C0[None]}
    model = one_node("CudnnRNNV3", inputs, params, lengths=[0, 3], rnn_mode="lstm", is_training=False)
    session = tfport.Session(model, engine=engine)
    y, h, c = session.run(["node:0", "node:1", "node:2"], {f"{k}:0": v for k, v in inputs.items()})
    assert np.array_equal(h[0, 0], H0[0])
    assert np.array_equal(c[0, 0], C0[0])
    assert not y[:, 0].any()
    assert not y[3:, 1].any()
    assert np.array_equal(y[2, 1], h[0, 1])
