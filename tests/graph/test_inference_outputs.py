"""The guessed outputs of graphs without signatures, in inference and training graphs."""

import pytest
from tests.recorded_models import graph, load

import tfport
from tfport.graph.build import graph_to_def
from tfport.graph.inference_outputs import guess_outputs, is_training_graph

X = "x = Placeholder() {dtype=float32, shape=(?, 4)}\n"
LABELS = "labels = Placeholder() {dtype=float32, shape=(?, 3)}\n"
W = "w = VariableV2() {dtype=float32, shape=(4, 3)}\nw/read = Identity(w) {T=float32}\n"
LOGITS = X + W + "logits = MatMul(x, w/read) {T=float32}\n"
BY_HAND = (
    LOGITS + LABELS + "axis = Const() {dtype=int32, value=int32()[0]}\n"
    "off = Sub(logits, labels) {T=float32}\n"
    "off2 = Square(off) {T=float32}\n"
    "cost = Mean(off2, axis) {T=float32, Tidx=int32}\n"
    "gradients/cost_grad/Fill = Const() {dtype=float32, value=float32()[1]}\n"
    "gradients/off2_grad/Mul = Mul(gradients/cost_grad/Fill, off) {T=float32}\n"
    "gradients/logits_grad/MatMul = MatMul(x, gradients/off2_grad/Mul) {T=float32, transpose_a=true}\n"
    "rate = Placeholder() {dtype=float32, shape=()}\n"
    "step = ApplyGradientDescent(w, rate, gradients/logits_grad/MatMul) {T=float32}\n"
)
XENTROPY = (
    LOGITS + LABELS + "loss = SoftmaxCrossEntropyWithLogits(logits, labels) {T=float32}\n"
    "gradients/loss_grad/mul = Neg(loss:1) {T=float32}\n"
    "gradients/logits_grad/MatMul = MatMul(x, gradients/loss_grad/mul) {T=float32, transpose_a=true}\n"
    "step = AssignSub(w, gradients/logits_grad/MatMul) {T=float32}\n"
)
AUTOENCODER = (
    X + "w = VariableV2() {dtype=float32, shape=(4, 4)}\nw/read = Identity(w) {T=float32}\n"
    "code = MatMul(x, w/read) {T=float32}\n"
    "image = Sigmoid(code) {T=float32}\n"
    "axis = Const() {dtype=int32, value=int32()[0]}\n"
    "off = Sub(x, image) {T=float32}\n"
    "off2 = Square(off) {T=float32}\n"
    "cost = Mean(off2, axis) {T=float32, Tidx=int32}\n"
    "gradients/cost_grad/a = Const() {dtype=float32, value=float32()[1]}\n"
    "gradients/off2_grad/b = Mul(gradients/cost_grad/a, off) {T=float32}\n"
    "gradients/off_grad/b = Mul(gradients/cost_grad/a, off) {T=float32}\n"
    "gradients/image_grad/c = SigmoidGrad(image, gradients/off2_grad/b) {T=float32}\n"
    "gradients/code_grad/d = MatMul(x, gradients/image_grad/c) {T=float32, transpose_a=true}\n"
    "step = AssignSub(w, gradients/code_grad/d) {T=float32}\n"
)
UPDATES = (  # an exported graph with batch normalization, without gradients
    LOGITS + "no = Const() {dtype=bool, value=bool()[false]}\n"
    "phase = PlaceholderWithDefault(no) {dtype=bool, shape=()}\n"
    "phase/id = Identity(phase) {T=bool}\n"
    "if = Switch(phase, phase) {T=bool}\n"
    "if/switch_f = Identity(if) {T=bool}\n"
    "moving = VariableV2() {dtype=float32, shape=(3)}\nmoving/read = Identity(moving) {T=float32}\n"
    "moved = Sub(logits, moving/read) {T=float32}\n"
    "update = AssignSub(moving, moved) {T=float32}\n"
)
DIM = "dim = Const() {dtype=int32, value=int32()[1]}\n"
CASES = {  # graph, and the guess
    "a chain": (X + "y = Neg(x) {T=float32}\nz = Abs(y) {T=float32}", ["z:0"]),
    "two heads": (X + "y = Neg(x) {T=float32}\nz = Abs(x) {T=float32}", ["y:0", "z:0"]),
    "a custom op": (X + "y = Acme(x)", ["y:0"]),
    "constants are no outputs": (
        X + "y = Neg(x) {T=float32}\nk = Const() {dtype=int32, value=int32()[1]}",
        ["y:0"],
    ),
    "by-products are no outputs": (
        X + "u = Unique(x) {T=float32}\ny = Neg(u) {T=float32}",
        ["y:0"],
    ),
    "both outputs of a top-k are": (
        X
        + "k = Const() {dtype=int32, value=int32()[1]}\nt = TopKV2(x, k) {T=float32}\ny = Neg(t) {T=float32}",
        ["t:1", "y:0"],
    ),
    "gradients are outputs where nothing is trained": (
        X + "gradients/y_grad/z = Neg(x) {T=float32}",
        ["gradients/y_grad/z:0"],
    ),
    "a branch and an update are not, beside a result": (UPDATES, ["logits:0"]),
    "labels, loss and updates are not": (BY_HAND, ["logits:0"]),
    "a loss op is not": (XENTROPY, ["logits:0"]),
    "what only a metric reads is": (
        XENTROPY + DIM + "class = ArgMax(logits, dim) {T=float32}\n"
        "true = ArgMax(labels, dim) {T=float32}\nhit = Equal(class, true) {T=int64}",
        ["class:0"],
    ),
    "what only a summary reads is not, beside a result": (
        XENTROPY + 'tag = Const() {dtype=string, value=string()["t"]}\n'
        "p = Softmax(logits) {T=float32}\nh = Abs(x) {T=float32}\nlog = HistogramSummary(tag, h) {T=float32}",
        ["p:0"],
    ),
    "an image that its loss compares with the input is": (AUTOENCODER, ["image:0"]),
}


def model_of(text):
    return tfport.load(graph_to_def(graph(text)).SerializeToString())


@pytest.mark.parametrize("name", CASES)
def test_outputs_are_guessed(name):
    text, outputs = CASES[name]
    assert guess_outputs(model_of(text)) == outputs


def test_a_graph_with_gradients_for_its_variables_is_a_training_graph():
    assert is_training_graph(graph(BY_HAND))
    assert not is_training_graph(graph(LOGITS))
    assert not is_training_graph(graph(X + "gradients/y_grad/z = Neg(x) {T=float32}"))


def test_what_saves_and_initializes_is_no_output():
    names = guess_outputs(load("ref_variables"))
    assert names
    assert not any(name.startswith(("save/", "init")) for name in names)


def test_a_graph_without_results_has_none():
    assert guess_outputs(model_of("w = VariableV2() {dtype=float32, shape=(2,)}")) == []


def test_an_identity_without_an_input_is_read():
    broken = graph_to_def(graph("x = Placeholder() {dtype=float32}\ny = Identity() {T=float32}\n"))
    assert guess_outputs(tfport.load(broken.SerializeToString())) is not None
