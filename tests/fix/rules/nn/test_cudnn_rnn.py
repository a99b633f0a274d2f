"""cuDNN's recurrent layers as arithmetic, compared with tfport's runtime, which runs the originals."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import NO_RULE, check_chain
from tests.fix.rule_cases import PRODUCER, assert_refuses, check, rule_case
from tests.recorded_models import graph
from tests.runtime.cases import numbers

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.engine import RuleEngine
from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.rule import Rulebook
from tfport.fix.rules.nn.cudnn_rnn import (
    as_arithmetic,
    counted_beforehand,
    one_after_another,
    split_into_parts,
)
from tfport.graph.build import graph_to_def
from tfport.runtime.ops.nn.cudnn_params import CudnnRnnConfig

BATCH = 3


def layers(
    op="CudnnRNN", *, mode="lstm", ways=1, count=1, units=4, inputs=2, steps=5, open=(), kind="float32",
    lengths=None, input_mode="linear_input", time_major=True, constants=("params",), **attrs,
):  # fmt: skip
    """A node with everything that it reads, and all that it answers."""
    direction = "bidirectional" if ways == 2 else "unidirectional"
    form = CudnnRnnConfig.of(mode, input_mode, direction, count, units, inputs)
    attributes = {"rnn_mode": mode, "direction": direction, "input_mode": input_mode, **attrs}
    states = (count * ways, BATCH, units)
    fed = {
        "x": numbers(steps, BATCH, inputs, seed=1),
        "h": numbers(*states, seed=2),
        "c": numbers(*states, seed=3),
    }
    if op == "CudnnRNNV3":
        attributes["time_major"] = time_major
        fed |= {"n": np.array([steps, 1, 2] if lengths is None else lengths, np.int32)}
    if not time_major:
        fed = {k: np.ascontiguousarray(v.swapaxes(0, 1)) if v.ndim == 3 else v for k, v in fed.items()}
    fed["params"] = numbers(form.size, seed=4) * 0.5
    if kind != "float32":
        fed = {k: v if v.dtype == np.int32 else v.astype(kind) for k, v in fed.items()}
    text = ", ".join(
        f"{k}={str(v).lower() if isinstance(v, bool) else v if isinstance(v, float) else repr(v)}"
        for k, v in attributes.items()
    ).replace("'", '"')
    names = "x, h, c, params, n" if op == "CudnnRNNV3" else "x, h, c, params"
    return rule_case(
        as_arithmetic, f"y = {op}({names}) {{T={kind}, {text}}}",
        fetches=["y:0", "y:1", "y:2"] if mode == "lstm" else ["y:0", "y:1"],
        open=open, constants=constants, answers="tfport", rtol=2e-3 if kind == "float16" else 1e-5,
        atol=2e-3 if kind == "float16" else 1e-5, **fed,
    )  # fmt: skip


CASES = [
    *(layers(mode=mode, ways=ways, count=count, is_training=False)
      for mode, ways, count in itertools.product(("lstm", "gru", "rnn_tanh", "rnn_relu"), (1, 2), (1, 2))),
    *(layers(mode=mode, ways=2, steps=70) for mode in ("lstm", "gru", "rnn_tanh")),
    layers("CudnnRNNV2", mode="gru", count=3),
    *(layers("CudnnRNNV3", mode=mode, ways=2, count=2, time_major=time_major, steps=steps)
      for mode, time_major, steps in itertools.product(("lstm", "gru"), (True, False), (4, 70))),
    layers("CudnnRNNV3", mode="lstm", lengths=[0, 5, 3]),
    layers("CudnnRNNV3", mode="rnn_relu", lengths=[0, 70, 3], steps=70),
    layers("CudnnRNNV3", ways=2, lengths=[5, 5, 5], constants=("params", "n")),
    layers("CudnnRNNV3", ways=2, lengths=[5, 4, 5], constants=("params", "n")),
    layers(input_mode="skip_input", units=4, inputs=4, ways=2, count=2),
    layers(input_mode="skip_input", units=4, inputs=4, mode="rnn_tanh", steps=80),
    layers(input_mode="auto_select", units=4, inputs=4, mode="gru"),
    layers(input_mode="auto_select", units=4, inputs=3, mode="gru"),
    layers(kind="float16", mode="lstm"),
    layers(kind="float64", mode="gru", ways=2, steps=66),
    layers(kind="float64", mode="lstm", constants=()),
    layers(dropout=0.0, is_training=True),
    layers(dropout=0.5, is_training=False),
    layers(open=("x",), mode="lstm"),
    layers(open=("x", "params"), mode="gru", count=2, constants=()),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


SIZES = {"k": np.int32(2), "u": np.int32(4), "i": np.int32(3)}


def canonical(mode, ways=1, input_mode="linear_input"):
    """All matrices and biases of two layers."""
    inputs = 4 if input_mode == "skip_input" else 3
    form = CudnnRnnConfig.of(mode, input_mode, ("unidirectional", "bidirectional")[ways - 1], 2, 4, inputs)
    return form, dict(SIZES, i=np.int32(inputs))


def to_params(op, mode, counts):
    form, sizes = canonical(mode)
    shapes = [*form.matrices(), *[(4,)] * form.biases]
    parts = {f"p{k}": numbers(*shape, seed=k) for k, shape in enumerate(shapes)}
    text = f'y = {op}(k, u, i, {", ".join(parts)}) {{T=float32, rnn_mode="{mode}", {counts}}}'
    return rule_case(one_after_another, text, constants=("k", "u", "i"), answers="tfport", **sizes, **parts)


def to_parts(op, mode, counts, ways=1, input_mode="linear_input"):
    form, sizes = canonical(mode, ways, input_mode)
    total = len(list(form.matrices())) + form.biases
    direction = ("unidirectional", "bidirectional")[ways - 1]
    text = (f'y = {op}(k, u, i, p) {{T=float32, rnn_mode="{mode}", direction="{direction}", '
            f'input_mode="{input_mode}", {counts}}}')  # fmt: skip
    return rule_case(split_into_parts, text, constants=("k", "u", "i"), answers="tfport",
                     fetches=[f"y:{k}" for k in range(total)], **sizes, p=numbers(form.size))  # fmt: skip


CASES += [
    rule_case(counted_beforehand,
              f'y = CudnnRNNParamsSize(k, u, i) {{T=float32, S={kind}, rnn_mode="{mode}"}}',
              constants=("k", "u", "i"), answers="tfport", **SIZES)
    for kind, mode in (("int32", "lstm"), ("int64", "gru"))
]  # fmt: skip
CASES += [
    to_params("CudnnRNNCanonicalToParams", "gru", "num_params=12"),
    to_params("CudnnRNNCanonicalToParamsV2", "lstm", "num_params_weights=16, num_params_biases=16"),
    to_parts("CudnnRNNParamsToCanonical", "rnn_tanh", "num_params=8", ways=2),
    to_parts("CudnnRNNParamsToCanonicalV2", "lstm", "num_params_weights=16, num_params_biases=16"),
    to_parts("CudnnRNNParamsToCanonical", "gru", "num_params=12", input_mode="skip_input"),
]

NODE = "y = CudnnRNNV3(x, h, c, p, n) {T=float32, rnn_mode=%s}"
FED = {
    "x": numbers(5, 3, 2), "h": numbers(1, 3, 4), "c": numbers(1, 3, 4),
    "p": numbers(128), "n": np.full(3, 5, np.int32),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "because"),
    [
        (NODE % '"lstm", dropout=0.5, is_training=true', "dropout=0.5 in training is random"),
        (NODE % '"lstm", num_proj=2', "num_proj=2 is not supported"),
        (
            NODE % '"lstm"' + "\nz = Identity(y:3) {T=float32}",
            "`z` reads the reserve space, which is for gradients",
        ),
    ],
)
def test_what_is_no_plain_arithmetic_stays(text, because):
    assert_refuses(as_arithmetic, text, because=because, **FED)


@pytest.mark.parametrize(
    ("open", "mode", "because"),
    [
        (("h",), "linear_input", "the number of its layers is unknown"),
        (("x",), "auto_select", "input_mode=auto_select depends on unknown sizes"),
    ],
)
def test_layers_of_unknown_number_or_kind_stay(open, mode, because):
    text = f'y = CudnnRNN(x, h, c, p) {{T=float32, input_mode="{mode}"}}'
    fed = {k: FED[k] for k in ("x", "h", "c", "p")}
    assert_refuses(as_arithmetic, text, because=because, open=open, **fed)


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("y = CudnnRNNParamsSize(k, u, i) {T=float32, S=int32}", "sizes of its layers are unknown"),
        ("y = CudnnRNNParamsSize(k, u, i) {T=float32, S=int32, num_proj=1}", "num_proj=1"),
    ],
)
def test_unknown_sizes_are_refused(text, because):
    assert_refuses(counted_beforehand, text, because=because, **SIZES)


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("y = CudnnRNNParamsToCanonical(k, u, i, p) {T=float32, num_params=2}",
         "has 4 outputs; expected 32 matrices and biases"),
        ('y = CudnnRNNParamsToCanonical(k, u, i, p) {T=float32, num_params=2, input_mode="skip_input"}',
         "skip_input: the input size must be 4, the number of units, found 3"),
    ],
)  # fmt: skip
def test_parts_of_another_number_stay(text, because):
    fed = {**SIZES, "p": numbers(8)}
    assert_refuses(split_into_parts, text, because=because, constants=("k", "u", "i"), **fed)


STATES = "h = ExpandDims(s, axis) {T=float32, Tdim=int32}\nc = ExpandDims(t, axis) {T=float32, Tdim=int32}\n"


def test_a_state_of_unknown_shape_may_be_known_to_be_one():
    text = STATES + "y = CudnnRNN(x, h, c, p) {T=float32, is_training=false}"
    fed = {"x": FED["x"], "s": FED["h"][0], "t": FED["c"][0], "p": FED["p"], "axis": np.int32(0)}
    check(
        rule_case(
            as_arithmetic, text, open=("x", "s", "t"), constants=("axis",), fetches=["y:0", "y:2"], **fed
        )
    )


FUNCTION = """
    x = Placeholder() {dtype=float32, shape=(?, ?, 2)}
    h = Placeholder() {dtype=float32, shape=(1, ?, 4)}
    c = Placeholder() {dtype=float32, shape=(1, ?, 4)}
    p = Placeholder() {dtype=float32, shape=(128,)}
    one = f(x, h, c, p)
    y = Identity(one) {T=float32}
    def f(a: float32, b: float32, d: float32, e: float32) -> (r: float32, s: float32):
      b1 = Identity(b) {T=float32, _output_shapes=[(1, ?, 4)]}
      n = CudnnRNN(a, b1, d, e) {T=float32, is_training=false}
      return r=n:0, s=n:1
"""


@pytest.mark.parametrize("target", ["tensorflow==1.4.1", "tensorflow==1.15.5", "tensorflow==2.21.0"])
def test_in_the_body_of_a_function_too(target):
    before, program = (graph(FUNCTION) for _ in range(2))
    checker, rules = NodeChecker(resolve_targets(target)[0], PRODUCER), Rulebook([as_arithmetic])
    body = program.library.functions["f"]
    assert not RuleEngine(checker, rules, Facts(), Journal()).rewrite(body)
    assert not [problem for node in body for problem in checker.unresolved(node)]
    ours, theirs = (
        tfport.Session(tfport.load(graph_to_def(version).SerializeToString())).run(
            ["y:0"], {f"{k}:0": FED[k] for k in "xhcp"}
        )
        for version in (program, before)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_layers_answer_as_before(data):
    """Few steps and many, one layer or several, sequences of any length."""
    draw = data.draw
    op = draw(st.sampled_from(["CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"]))
    steps, units = draw(st.integers(1, 40)), draw(st.integers(1, 5))
    skips = draw(st.booleans())
    options = {
        "mode": draw(st.sampled_from(["lstm", "gru", "rnn_tanh", "rnn_relu"])),
        "ways": draw(st.integers(1, 2)),
        "count": draw(st.integers(1, 3)),
        "input_mode": "skip_input" if skips else "linear_input",
        "inputs": units if skips else draw(st.integers(1, 4)),
        "open": draw(st.sampled_from([(), ("x",)])),
        "constants": draw(st.sampled_from([(), ("params",)])),
    }
    if op == "CudnnRNNV3":
        lengths = st.lists(st.integers(0, steps), min_size=BATCH, max_size=BATCH)
        options |= {"lengths": draw(lengths), "time_major": draw(st.booleans())}
    check(layers(op, steps=steps, units=units, **options))


@pytest.mark.parametrize("target", ["tensorflow==1.4.1", "tensorflow==1.12.3", "tensorflow==2.8.4"])
@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_real_targets_take_all_that_is_made(target, mode):
    c = layers("CudnnRNNV3", mode=mode, ways=2, steps=70, kind="float16")
    used = check_chain(replace(c, rule=NO_RULE), target)
    assert "as_arithmetic" in used
