"""The ops of TensorFlow.js answer like the ops that its converter fused, whichever way they run."""

import pytest
from tests.runtime.baked import WAYS, baked
from tests.runtime.cases import assert_same, f32, graph_case, numbers, run

X, BIAS = numbers(1, 6, 7, 3), numbers(6, seed=1)
DEPTHWISE, FILTER, MATRIX = numbers(3, 3, 3, 2, seed=2), numbers(3, 3, 3, 6, seed=3), numbers(3, 6, seed=4)
ALPHAS = {
    "each channel": numbers(6, seed=5),
    "one row": numbers(1, 1, 6, seed=6),
    "all": numbers(6, 7, 6, seed=7),
}
SUMS = 1e-5  # absolute tolerance: a sum may be much smaller than its terms


def fused(op, weight, ops, *args, x=X, **attrs):
    """A fused op, without the attributes that TensorFlow.js omits."""
    extra = [[]] if op == "_FusedConv2D" else []
    if op != "_FusedMatMul":
        attrs = {"strides": [1, 1, 1, 1], "padding": "SAME"} | attrs
    return baked(
        op, x, weight, list(args), *extra, fused_ops=list(ops), num_args=len(args), atol=SUMS, **attrs
    )


def apart(lines, **arrays):
    """The same as single ops; the last of them is `y`."""
    fed = [f"{name} = Placeholder() {{dtype=float32}}" for name in arrays]
    return graph_case("\n".join(fed + lines), fetches="y:0", name="apart", atol=SUMS, **arrays)


def separate(product, weight, steps, *args, x=X):
    """A product and the ops after it, which read `p`, `b` and `a`."""
    return apart([f"p = {product}", *steps], x=x, w=weight, **dict(zip("ba", args, strict=False)))


STRIDES = "{T=float32, strides=[1, 1, 1, 1], padding=SAME}"
PRODUCTS = {
    "FusedDepthwiseConv2dNative": (f"DepthwiseConv2dNative(x, w) {STRIDES}", DEPTHWISE),
    "_FusedConv2D": (f"Conv2D(x, w) {STRIDES}", FILTER),
    "_FusedMatMul": ("MatMul(x, w) {T=float32}", MATRIX),
}
BIASED = "v = BiasAdd(p, b) {T=float32}"
ACTIVATIONS = {
    "Relu": ["y = Relu(v) {T=float32}"],
    "Relu6": ["y = Relu6(v) {T=float32}"],
    "Elu": ["y = Elu(v) {T=float32}"],
    "Sigmoid": ["y = Sigmoid(v) {T=float32}"],
    "Tanh": ["y = Tanh(v) {T=float32}"],
    "LeakyRelu": ["y = LeakyRelu(v) {T=float32, alpha=0.3}"],
}
PRELU = [
    "z = ZerosLike(v) {T=float32}",
    "l = Less(v, z) {T=float32}",
    "m = Mul(v, a) {T=float32}",
    "y = SelectV2(l, m, v) {T=float32}",
]
SAME = ["y = Identity(v) {T=float32}"]


def pairs():
    for op, (product, weight) in PRODUCTS.items():
        x = X.reshape(-1, 3) if op == "_FusedMatMul" else X
        for name, steps in ACTIVATIONS.items():
            more = {"leakyrelu_alpha": 0.3} if name == "LeakyRelu" else {}
            yield (
                fused(op, weight, ["BiasAdd", name], BIAS, x=x, **more),
                separate(product, weight, [BIASED, *steps], BIAS, x=x),
            )
        yield fused(op, weight, ["BiasAdd"], BIAS, x=x), separate(product, weight, [BIASED, *SAME], BIAS, x=x)
        for alpha in ALPHAS.values():
            if x is X or alpha.ndim == 1:
                yield (
                    fused(op, weight, ["BiasAdd", "Prelu"], BIAS, alpha, x=x),
                    separate(product, weight, [BIASED, *PRELU], BIAS, alpha, x=x),
                )
    product, weight = PRODUCTS["FusedDepthwiseConv2dNative"]
    plain = "v = Identity(p) {T=float32}"
    yield (
        fused("FusedDepthwiseConv2dNative", weight, ["NoOp", "Relu6"]),
        separate(product, weight, [plain, *ACTIVATIONS["Relu6"]]),
    )
    pads = "explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0]"
    explicit = product.replace("padding=SAME", f"padding=EXPLICIT, {pads}")
    yield (
        fused(
            "FusedDepthwiseConv2dNative",
            weight,
            ["BiasAdd"],
            BIAS,
            padding="EXPLICIT",
            explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0],
        ),
        separate(explicit, weight, [BIASED, *SAME], BIAS),
    )
    yield (
        fused("FusedDepthwiseConv2dNative", weight, ["BiasAdd"], BIAS, dilations=[1, 2, 2, 1]),
        separate(
            product.replace("padding=SAME", "padding=SAME, dilations=[1, 2, 2, 1]"),
            weight,
            [BIASED, *SAME],
            BIAS,
        ),
    )


PAIRS = list(pairs())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("c", "separated"), PAIRS, ids=[str(c) for c, _ in PAIRS])
def test_a_fused_op_answers_like_the_ops_that_were_fused(c, separated, way):
    (ours,), (expected,) = run(c, way), run(separated, "host")
    assert_same(ours, expected, c)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [(6, 7, 3), (1, 1, 3), (3,), (1,)])
def test_prelu_scales_what_is_negative(shape, way):
    alpha = numbers(*shape, seed=8)
    (ours,) = run(baked("Prelu", X, alpha), way)
    (expected,) = run(apart(["v = Identity(x) {T=float32}", *PRELU], x=X, a=alpha), "host")
    assert_same(ours, expected, baked("Prelu", X, alpha))


def test_prelu_keeps_zero_and_nan():
    nothing = float("nan")
    (y,) = run(baked("Prelu", f32(0, -1, nothing), f32(2, 2, 2)), "host")
    assert y[:2].tolist() == [0, -2]
    assert y[2] != y[2]
