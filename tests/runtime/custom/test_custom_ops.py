"""Custom ops of each kind in a session, with host kernels and lowerings."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.recorded_models import graph
from tests.runtime.programs import session_of

import tfport
from tfport.graph.build import graph_to_def

X = "x = Placeholder() {dtype=float32, shape=(?,)}\n"


def registry_with(*declare):
    made = tfport.Registry()
    for declare_op in declare:
        declare_op(made)
    return made


def scale(r):
    """Elementwise, in NumPy."""

    @r.op("Acme>Scale: (x: T) -> y: T; T: {float, double}; by: float = 2", shape=lambda x: x)
    @r.kernel("Acme>Scale")
    def scale(x, *, by):
        return x * x.dtype.type(by)


def scale_in_onnx(r):
    """Elementwise, lowered to ONNX."""

    @r.op("Acme>Scale: (x: T) -> y: T; T: {float, double}; by: float = 2")
    @r.kernel("Acme>Scale", lowers=True)
    def scale(b, x, *, by, T):
        return b.Mul(x, b.const(by, T))


def evens(r):
    """A reduction whose shape depends on its data, with two outputs."""

    @r.op("Acme>Evens: (x: int32) -> (values: int32, count: int64)", shape=lambda x: [(None,), ()])
    @r.kernel("Acme>Evens")
    def evens(x):
        even = x[x % 2 == 0]
        return even, even.size


def shout(r):
    @r.op("Acme>Shout: (text: string) -> loud: string; mark: {'!', '?'} = '!'")
    @r.kernel("Acme>Shout")
    def shout(text, *, mark):
        return np.array([s.decode().upper() + mark for s in text.reshape(-1)], object).reshape(text.shape)


def join(r):
    """A list of tensors, and a list of any types."""

    @r.op("Acme>Sum: (xs: N*T) -> sum: T; N: int >= 1; T: {float, int32}")
    @r.kernel("Acme>Sum")
    def total(xs):
        return sum(xs[1:], xs[0])

    @r.op("Acme>Swap: (xs: Ts) -> ys: Us; Ts: list(type); Us: list(type)")
    @r.kernel("Acme>Swap")
    def swap(xs, *, Us):
        return list(reversed(xs))


class Counter:
    def __init__(self):
        self.value, self.lock = 0, threading.Lock()


def count(r):
    """Stateful: its state belongs to the session."""

    @r.op("Acme>Count: () -> n: int64; name: string = ''; stateful")
    @r.kernel("Acme>Count")
    def count(*, name, context):
        counter = context.state.resource(Counter, name or context.name, Counter)
        with counter.lock:
            counter.value += 1
            return counter.value


def silence(r):
    """No outputs."""

    @r.op("Acme>Seen: (x: float) -> (); stateful")
    @r.kernel("Acme>Seen")
    def seen(x, *, context):
        context.state.resource(Counter, "seen", Counter).value += x.size


TEXT = "x = Placeholder() {dtype=string, shape=(?,)}\n"
GRAPHS = [  # op, graph of which `y` is fetched, fed, answer
    (scale, X + "y = Acme>Scale(x) {T=float32}", [1, 2], [2, 4]),
    (scale, X + "y = Acme>Scale(x) {T=float32, by=0.5}", [1, 2], [0.5, 1]),
    (shout, TEXT + "y = Acme>Shout(x)", ["a", "ü"], [b"A!", "Ü!".encode()]),
    (join, X + "y = Acme>Sum(x, x, x) {N=3, T=float32}", [1, 2], [3, 6]),
]  # fmt: skip


@pytest.mark.parametrize("engine", ["onnxruntime", "none"])
@pytest.mark.parametrize(("op", "text", "fed", "answer"), GRAPHS)
def test_a_session_runs_it(op, text, fed, answer, engine):
    session = session_of(text, registry=registry_with(op), engine=engine)
    assert session.run("y:0", {"x:0": fed}).tolist() == answer


def test_a_lowering_is_part_of_an_island():
    text = X + "a = Neg(x) {T=float32}\nb = Acme>Scale(a) {T=float32, by=3.0}\ny = Neg(b) {T=float32}"
    session = session_of(text, registry=registry_with(scale_in_onnx))
    assert session.run("y:0", {"x:0": [1, 2]}).tolist() == [3, 6]
    assert session.program(["y:0"], ["x:0"]).is_lowered


def test_a_reduction_may_have_any_shape_and_several_outputs():
    session = session_of(
        """
        x = Placeholder() {dtype=int32, shape=(?,)}
        e = Acme>Evens(x)
        y = Neg(e) {T=int32}
        """,
        registry=registry_with(evens),
    )
    for fed, values in (([1, 2, 3, 4], [-2, -4]), ([1], []), ([2] * 5, [-2] * 5)):
        array, number = session.run(["y:0", "e:1"], {"x:0": fed})
        assert (array.tolist(), number) == (values, len(values))


def test_a_list_of_any_types_is_returned_as_a_list():
    session = session_of(
        """
        x = Placeholder() {dtype=float32, shape=(?,)}
        t = Placeholder() {dtype=string, shape=()}
        y = Acme>Swap(x, t) {Ts=[float32, string], Us=[string, float32]}
        """,
        registry=registry_with(join),
    )
    text, numbers = session.run(["y:0", "y:1"], {"x:0": [1], "t:0": "a"})
    assert (text.item(), numbers.tolist()) == (b"a", [1])


def test_state_belongs_to_the_session_and_is_shared_by_threads():
    registry = registry_with(count)
    text = 'y = Acme>Count()\nz = Acme>Count() {name="z"}'
    first, second = (session_of(text, registry=registry) for _ in range(2))
    with ThreadPoolExecutor(8) as pool:
        answers = sorted(int(n) for n in pool.map(lambda _: first.run("y:0"), range(100)))
    assert answers == list(range(1, 101))
    assert (first.run("z:0"), second.run("y:0")) == (1, 1)


def test_an_op_without_outputs_runs_for_its_effect():
    session = session_of(X + "s = Acme>Seen(x)\ny = Neg(x, ^s) {T=float32}", registry=registry_with(silence))
    session.run("y:0", {"x:0": [1, 2, 3]})
    assert session.state.resource(Counter, "seen", Counter).value == 3


FUNCTION = """
    def body(x: int32) -> (n: int64):
      e = Acme>Evens(x)
      return n=e
    x = Placeholder() {dtype=int32, shape=(?,)}
    y = PartitionedCall(x) {Tin=[int32], Tout=[int64], f=@body}
"""


@pytest.mark.parametrize("knows", [True, False], ids=["known when read", "known when run"])
def test_function_bodies_name_outputs_of_ops_that_only_a_registry_defines(knows):
    record = graph_to_def(graph(FUNCTION))
    body = record.library.function[0]
    body.ret["n"] = "e:count:0"  # as TensorFlow writes it
    registry = registry_with(evens)
    model = tfport.load(record.SerializeToString(), registry=registry if knows else None)
    assert tfport.Session(model, registry=registry).run("y:0", {"x:0": [1, 2, 4]}) == 2


def test_a_registry_defines_ops_for_models_that_a_session_reads():
    record = graph_to_def(graph(X + "y = Acme>Scale(x) {T=float32}")).SerializeToString()
    session = tfport.Session(record, registry=registry_with(scale))
    assert session.run("y:0", {"y:0": [5]}).tolist() == [5]  # fed: its type comes from the definition


def test_sessions_with_different_registries_do_not_interfere():
    def times(factor):
        registry = tfport.Registry()

        @registry.op("Acme>Times: (x: float) -> y: float")
        @registry.kernel("Acme>Times")
        def kernel(x):
            return x * np.float32(factor)

        return session_of(X + "y = Acme>Times(x)", registry=registry)

    sessions = [times(factor) for factor in range(8)]
    start = threading.Barrier(8)

    def use(place):
        start.wait()
        return [sessions[place].run("y:0", {"x:0": [1]}).item() for _ in range(50)]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(use, range(8))) == [[float(place)] * 50 for place in range(8)]
    with pytest.raises(
        tfport.CannotRun,
        match=r"`y` \(Acme>Times\): tfport has no kernel for the custom op `Acme>Times`; define it",
    ):
        session_of(X + "y = Acme>Times(x)").run("y:0", {"x:0": [1]})


def test_a_registry_takes_precedence_over_the_one_below_for_the_types_that_it_supports():
    below = registry_with(scale)
    above = tfport.Registry(below)

    @above.kernel("Acme>Scale", T="double")
    def wrong(x, *, by):
        return -x

    assert session_of(X + "y = Acme>Scale(x) {T=float32}", registry=above).run("y:0", {"x:0": [1]}) == 2
    double = "x = Placeholder() {dtype=float64, shape=(?,)}\ny = Acme>Scale(x) {T=float64}"
    assert session_of(double, registry=above).run("y:0", {"x:0": [1.0]}) == -1
    assert session_of(double, registry=below).run("y:0", {"x:0": [1.0]}) == 2


def test_a_custom_kernel_of_a_tensorflow_op_takes_precedence():
    registry = tfport.Registry()

    @registry.kernel("Relu", T="float")
    def relu(features):
        return features + 100

    text = X + "y = Relu(x) {T=float32}"
    assert session_of(text, registry=registry).run("y:0", {"x:0": [1]}) == 101
    assert session_of(text).run("y:0", {"x:0": [1]}) == 1


def test_label_and_priority_select_the_kernel():
    registry = tfport.Registry()
    registry.op("Acme>Who: () -> y: string")
    for answer, options in (("plain", {}), ("best", {"priority": 1}), ("fast", {"label": "fast"})):
        registry.add_kernel("Acme>Who", lambda answer=answer: answer.encode(), provider=answer, **options)
    session = session_of('y = Acme>Who()\nz = Acme>Who() {_kernel="fast"}', registry=registry)
    assert (session.run("y:0").item(), session.run("z:0").item()) == (b"best", b"fast")


KERNELS = [  # a kernel that does wrong          message
    (lambda x: 1 / 0, r"`y` \(Acme>Bad\): ZeroDivisionError: division by zero"),
    (lambda x: x.astype(float), r"`y` \(Acme>Bad\): the kernel returns float64; expected int32"),
    (lambda x: "seven", r"`y` \(Acme>Bad\): the kernel returns <U5; expected int32"),
    (lambda x: (x, x), r"`y` \(Acme>Bad\): the kernel returns 2 outputs; expected 1"),
    (lambda x: x[:1], r"the kernel returns shape \(1,\); the shape function says \(3,\)"),
    (lambda x: x.__iadd__(1), r"`y` \(Acme>Bad\): ValueError: output array is read-only"),
]


@pytest.mark.parametrize(("kernel", "message"), KERNELS)
def test_an_error_of_a_kernel_is_reported(kernel, message):
    registry = tfport.Registry()
    registry.op("Acme>Bad: (x: int32) -> y: int32", shape=lambda x: x)
    registry.add_kernel("Acme>Bad", kernel)
    session = session_of("x = Placeholder() {dtype=int32, shape=(3,)}\ny = Acme>Bad(x)", registry=registry)
    with pytest.raises(tfport.Error, match=message):
        session.run("y:0", {"x:0": np.int32([1, 2, 3])})


NODES = [  # a node that does not fit                      message
    ("y = Acme>Scale(x) {T=float32, to=1.0}", "it has no attribute `to`"),
    ("y = Acme>Scale(x)", "its attribute `T` is missing and has no default"),
    ('y = Acme>Scale(x) {T=float32, by="2"}', "its attribute `by` is of type string; expected float"),
    ("y = Acme>Scale(x) {T=int32}", "its attribute `T` is int32; expected float32, float64; its input 0"),
    ("y = Acme>Scale(x, x) {T=float32}", "it has 2 inputs; expected 1"),
    ("y = Acme>Scale(x) {T=float64}", "its input 0 is float32; expected float64"),
    ("y = Acme>Sum() {N=0, T=float32}", "its attribute `N` is 0; expected at least 1"),
    ("y = Acme>Sum(x) {N=1, T=float32, _kernel=\"fast\"}",
     "no kernel for label fast; its kernels are for any"),
    ("y = Acme>Bare(x)", "the op is defined but has no kernel"),
    ("y = Acme>OnGpu(x)", "its kernels are for GPU, but tfport runs on CPU"),
    ("y = Acme>Some(x) {T=float32}", "no kernel for T=float32; its kernels are for T=int32, int64"),
]  # fmt: skip


@pytest.mark.parametrize(("node", "message"), NODES)
def test_a_node_that_contradicts_its_definition_is_reported_before_anything_runs(node, message):
    registry = registry_with(scale, join)
    registry.op("Acme>Bare: (x: float) -> y: float")
    registry.op("Acme>OnGpu: (x: float) -> y: float")
    registry.kernel("Acme>OnGpu", "gpu")(lambda x: x)
    registry.op("Acme>Some: (x: T) -> y: T; T: type")
    registry.kernel("Acme>Some", T=["int32", np.int64])(lambda x: x)
    with pytest.raises(tfport.CannotRun) as raised:
        session_of(X + node, registry=registry).run("y:0", {"x:0": [1]})
    assert message in str(raised.value)


BRANCHES = """
    def then(x: int32) -> (y: int32):
      e = Acme>Evens(x)
      return y=e
    def otherwise(x: int32) -> (y: int32):
      n = Neg(x) {T=int32}
      return y=n
    p = Placeholder() {dtype=bool, shape=()}
    x = Placeholder() {dtype=int32, shape=(?,)}
    y = If(p, x) {Tcond=bool, Tin=[int32], Tout=[int32], then_branch=@then, else_branch=@otherwise}
"""


def test_a_custom_op_in_a_branch():
    session = session_of(BRANCHES, registry=registry_with(evens))
    answers = [session.run("y:0", {"p:0": p, "x:0": [1, 2]}).tolist() for p in (True, False)]
    assert answers == [[2], [-1, -2]]


def test_a_registry_of_the_wrong_type_is_an_error():
    with pytest.raises(tfport.Error, match=r"registry must be a tfport\.Registry, got dict"):
        session_of(X, registry={"Acme>Scale": None})


BAD_SHAPES = [  # a shape function            message
    (lambda x: [x, x], "returns .* expected a tuple of sizes"),
    (lambda x: 3, "returns 3; expected a tuple of sizes, None for an unknown one"),
    (lambda x: x[7], "fails: IndexError: tuple index out of range"),
]


@pytest.mark.parametrize(("shape", "message"), BAD_SHAPES)
def test_an_error_of_a_shape_function_is_reported(shape, message):
    registry = tfport.Registry()
    registry.op("Acme>Bad: (x: float) -> y: float", shape=shape)
    registry.kernel("Acme>Bad")(lambda x: x)
    with pytest.raises(tfport.CannotRun, match=f"the shape function of Acme>Bad {message}"):
        session_of(X + "y = Acme>Bad(x)", registry=registry).run("y:0", {"x:0": [1]})


def test_a_lowering_that_fails_names_its_node():
    registry = tfport.Registry()

    @registry.op("Acme>Bad: (x: float) -> y: float")
    @registry.kernel("Acme>Bad", lowers=True)
    def bad(b, x):
        return b.Mul(x)[0].nothing

    with pytest.raises(tfport.CannotRun, match=r"`y` \(Acme>Bad\): its lowering fails: "):
        session_of(X + "y = Acme>Bad(x)", registry=registry).run("y:0", {"x:0": [1]})
