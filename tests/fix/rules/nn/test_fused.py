"""Fused products split into separate ops."""

import pytest
from tests.fix.chains import chain_case, check_chain, rewritten_for
from tests.fix.rule_cases import apply, assert_refuses, check, rule_case
from tests.runtime.cases import numbers

from tfport.fix.rules.nn.fused import (
    conv2d_and_what_follows,
    depthwise_and_what_follows,
    matmul_and_what_follows,
    prelu_is_a_choice,
)

X, F, D = numbers(2, 7, 8, 3), numbers(3, 3, 3, 4, seed=1), numbers(3, 3, 3, 2, seed=2)
B = numbers(4, seed=3)
NORM = {"s": B, "o": numbers(4, seed=4), "m": numbers(4, seed=5), "v": numbers(4, seed=6, low=0.1)}
A, W = numbers(5, 6), numbers(6, 4, seed=7)
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def conv(args, ops, attrs="", types="", op="_FusedConv2D"):
    listed = "[" + ", ".join(ops) + "]"
    types = types or (f", TArgs=[{', '.join(['float32'] * len(args))}]" if op == "_FusedConv2D" else "")
    return (
        f"y = {op}({', '.join(['x', 'f', *args])}) {{T=float32, num_args={len(args)}{types}, "
        f"fused_ops={listed}, strides=[1, 2, 2, 1], padding=SAME{attrs}}}"
    )


def product(args, ops, attrs=""):
    return (
        f"y = _FusedMatMul({', '.join(['a', 'w', *args])}) {{T=float32, num_args={len(args)}, "
        f"fused_ops=[{', '.join(ops)}]{attrs}}}"
    )


ACTIVATIONS = ["Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"]
OURS = {"answers": "tfport", **CLOSE}
CASES = [
    rule_case(conv2d_and_what_follows, conv("b", ["BiasAdd"]), x=X, f=F, b=B, **CLOSE),
    rule_case(conv2d_and_what_follows, conv("b", ["BiasAdd"]), x=X, f=F, b=B, open=("x", "f"), **CLOSE),
    *(
        rule_case(
            conv2d_and_what_follows,
            conv("b", ["BiasAdd", name], ", leakyrelu_alpha=0.3"),
            x=X,
            f=F,
            b=B,
            **CLOSE,
        )
        for name in ACTIVATIONS[:4]
    ),
    *(
        rule_case(conv2d_and_what_follows, conv("b", ["BiasAdd", name]), x=X, f=F, b=B, **OURS)
        for name in ACTIVATIONS[4:]
    ),
    rule_case(
        conv2d_and_what_follows, conv("somv", ["FusedBatchNorm"], ", epsilon=0.01"), x=X, f=F, **NORM, **CLOSE
    ),
    rule_case(conv2d_and_what_follows, conv("somv", ["FusedBatchNorm", "Relu"]), x=X, f=F, **NORM, **CLOSE),
    rule_case(
        conv2d_and_what_follows,
        conv("b", ["BiasAdd"], ", dilations=[1, 2, 2, 1]").replace(
            "2, 2, 1], padding=SAME", "1, 1, 1], padding=EXPLICIT, explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0]"
        ),
        x=X,
        f=F,
        b=B,
        **CLOSE,
    ),
    rule_case(
        conv2d_and_what_follows,
        conv("bg", ["BiasAdd", "Add", "Relu"]),
        x=X,
        f=F,
        b=B,
        g=numbers(2, 4, 4, 4),
        **OURS,
    ),
    rule_case(
        depthwise_and_what_follows,
        conv("b", ["BiasAdd", "Relu6"], op="_FusedDepthwiseConv2dNative"),
        x=X,
        f=D,
        b=numbers(6),
        **OURS,
    ),
    *(
        rule_case(
            depthwise_and_what_follows,
            conv(args, ops, op="FusedDepthwiseConv2dNative"),
            x=X,
            f=D,
            b=numbers(6),
            p=numbers(1, 1, 6, seed=8),
            **OURS,
        )
        for args, ops in (("b", ["BiasAdd", "Relu6"]), ("bp", ["BiasAdd", "Prelu"]), ("", ["NoOp", "Elu"]))
    ),
    rule_case(prelu_is_a_choice, "y = Prelu(x, p)", x=X, p=numbers(1, 1, 3, seed=8), answers="tfport"),
    rule_case(matmul_and_what_follows, product("b", ["BiasAdd"]), a=A, w=W, b=B, **CLOSE),
    rule_case(
        matmul_and_what_follows,
        product("b", ["BiasAdd", "Relu"], ", transpose_a=true"),
        a=A.T.copy(),
        w=W,
        b=B,
        **CLOSE,
    ),
    *(
        rule_case(
            matmul_and_what_follows,
            product("b", ["BiasAdd", name], ", leakyrelu_alpha=0.1"),
            a=A,
            w=W,
            b=B,
            **CLOSE,
        )
        for name in ACTIVATIONS
    ),
    *(
        rule_case(matmul_and_what_follows, product("b", ["BiasAdd", name]), a=A, w=W, b=B, **OURS)
        for name in ("GeluExact", "GeluApproximate")
    ),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


NAMED = {"_FusedHardSwish": "Relu6", "Prelu": "SelectV2"}


@pytest.mark.parametrize("name", NAMED)
def test_what_no_cpu_fuses_is_taken_apart_too(name):
    c = rule_case(
        conv2d_and_what_follows, conv("bp"[: 1 + (name == "Prelu")], ["BiasAdd", name]), x=X, f=F, b=B, p=B
    )
    assert NAMED[name] in apply(c.rule, c.model())


def test_an_op_of_tensorflow_js_that_no_release_defines():
    text = conv("b", ["BiasAdd", "Relu6"], op="FusedDepthwiseConv2dNative")
    c = rule_case(depthwise_and_what_follows, text, x=X, f=D, b=numbers(6))
    assert apply(c.rule, c.model()) == ["DepthwiseConv2dNative", "BiasAdd", "Relu6"]


REFUSED = [
    (conv2d_and_what_follows, conv("b", ["BiasAdd"], ", filter_format=OIHW"), "its filter_format is OIHW"),
    (
        conv2d_and_what_follows,
        conv("b", ["BiasAdd"], ", data_format=NCHW_VECT_C"),
        "its data_format is NCHW_VECT_C",
    ),
    (conv2d_and_what_follows, conv("b", ["BiasAdd", "Dance"]), "the fused op Dance is unknown"),
    (conv2d_and_what_follows, conv("b", ["FusedBatchNorm"]), "the input for FusedBatchNorm is missing"),
    (conv2d_and_what_follows, conv("bb", ["BiasAdd"]), "the meaning of its last 1 inputs is unknown"),
]


@pytest.mark.parametrize(("rule", "text", "because"), REFUSED, ids=[row[2] for row in REFUSED])
def test_stays_as_it_was(rule, text, because):
    assert_refuses(rule, text, because=because, x=X, f=F, b=B)


CHAINS = {
    "newest": (conv("b", ["BiasAdd", "LeakyRelu"]), "tensorflow==1.4.1"),
    "of TensorFlow.js": (conv("b", ["BiasAdd", "Relu6"], types=" "), "tensorflow==1.4.1"),
    "of TensorFlow.js for a new one": (conv("b", ["BiasAdd", "Relu6"], types=" "), "tensorflow==2.21.0"),
    "of TensorFlow.js with an attribute that a release lacks": (
        conv("b", ["BiasAdd", "Relu"], ", leakyrelu_alpha=0.2", types=" "),
        "tensorflow==1.13.1",
    ),
    "dilated": (conv("b", ["BiasAdd"], ", dilations=[1, 2, 2, 1]"), "tensorflow==1.4.1"),
    "channels first": (
        conv("b", ["BiasAdd"], ", data_format=NCHW").replace("[1, 2, 2, 1]", "[1, 1, 2, 2]"),
        "tensorflow==1.4.1",
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_reaches_releases_without_it(name):
    text, target = CHAINS[name]
    x = X.transpose(0, 3, 1, 2).copy() if "NCHW" in text else X
    check_chain(chain_case(text, x=x, f=F, b=B, **CLOSE), target)


@pytest.mark.parametrize("target", ["tensorflow==2.21.0", "tensorflow==1.4.1"])
def test_prelu_reaches_releases_which_never_had_it(target):
    check_chain(chain_case("y = Prelu(x, p)", x=X, p=numbers(1, 1, 3, seed=8), **CLOSE), target)


def test_a_product_reaches_the_oldest_release():
    check_chain(chain_case(product("b", ["BiasAdd", "LeakyRelu"]), a=A, w=W, b=B, **CLOSE))


FUSIONS = {  # what kernels do not fuse is taken apart, and the rest stays
    "tensorflow==1.13.2": {"Relu": True, "Relu6": False, "LeakyRelu": False, "Tanh": False},
    "tensorflow==2.3.4": {"Relu": True, "Relu6": True, "LeakyRelu": False, "Tanh": False},
    "tensorflow==2.8.4": {"Relu": True, "Relu6": True, "LeakyRelu": True, "Tanh": False},
}


@pytest.mark.parametrize("target", FUSIONS)
def test_what_a_release_fuses_stays(target):
    for name, stays in FUSIONS[target].items():
        c = chain_case(conv("b", ["BiasAdd", name], types=" "), x=X, f=F, b=B, **CLOSE)
        assert ("_FusedConv2D" in {node.op for node in rewritten_for(c, target).graph}) == stays, name
