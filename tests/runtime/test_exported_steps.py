"""What only exported ONNX files compute by nodes, as the host does: strings, tables, Fourier transforms."""

import numpy as np
import onnxruntime as ort
import pytest
from tests.recorded_models import load
from tests.runtime.programs import session_of

import tfport
from tfport.runtime.export import OnnxOptions, export_signature
from tfport.runtime.select_signature import select_signature

OPTIONS = OnnxOptions(strings=True, drop_asserts=True)
TEXTS = np.array([[b"a", "é".encode(), b""], [b"a-b", "東京".encode(), b"A"]], object)
SAMPLES = np.random.default_rng(0).standard_normal((2, 6, 24)).astype(np.float32)


def compared(session, tmp_path, inputs, signature=None):
    """The outputs of the exported file and of the session."""
    signature = signature or select_signature(session.model)
    export_signature(session, signature, tmp_path / "m.onnx", OPTIONS)
    engine = ort.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    feeds = {spec.tensors[0]: inputs[name] for name, spec in signature.inputs.items()}
    fetches = [spec.tensors[0] for spec in signature.outputs.values()]
    answers = engine.run(
        [info.name for info in engine.get_outputs()], {n: text(a) for n, a in inputs.items()}
    )
    return answers, session.run(fetches, feeds)


def text(array):
    return np.vectorize(bytes.decode, otypes=[object])(array) if array.dtype == object else array


STRINGS = """
    x = Placeholder() {dtype=string, shape=(?, 3)}
    y = Const() {dtype=string, value=string()["a"]}
    equal = Equal(x, y) {T=string}
    unequal = NotEqual(x, y) {T=string}
    joined = StringJoin(x, y, x) {N=3, separator="-"}
    matched = StaticRegexFullMatch(x) {pattern="[a-zé]+"}
    zero = Const() {dtype=int32, value=int32()[0]}
    unit = Const() {dtype=int32, value=int32()[1]}
    first = GatherV2(x, zero, unit) {Tparams=string, Tindices=int32, Taxis=int32, batch_dims=0}
    row = GatherV2(x, zero, zero) {Tparams=string, Tindices=int32, Taxis=int32, batch_dims=0}
    twice = ConcatV2(x, x, zero) {N=2, T=string, Tidx=int32}
    order = Const() {dtype=int32, value=int32(2)[1, 0]}
    other = Transpose(x, order) {T=string, Tperm=int32}
    chosen = SelectV2(equal, y, x) {T=string}
    same = Identity(x) {T=string}
"""


@pytest.mark.parametrize(
    "output", ["equal", "unequal", "joined", "matched", "first", "twice", "other", "chosen", "same"]
)
def test_strings_are_computed_by_the_file(output, tmp_path):
    session = session_of(STRINGS)
    signature = select_signature(session.model, fetches=[output], feeds=["x"])
    (answer,), (expected,) = compared(session, tmp_path, {"x": TEXTS}, signature)
    assert answer.tolist() == text(expected).tolist()


def test_rows_of_strings_are_not_gathered(tmp_path):
    """ONNX Runtime 1.31.1 copies the first string of each row."""
    session = session_of(STRINGS)
    signature = select_signature(session.model, fetches=["row"], feeds=["x"])
    with pytest.raises(tfport.CannotRun, match=r"`row` \(GatherV2\): ONNX Runtime has no Gather for string"):
        compared(session, tmp_path, {"x": TEXTS}, signature)


def test_tables_with_other_bytes_than_text_are_refused(tmp_path):
    with pytest.raises(tfport.CannotRun, match="its table has strings that are not UTF-8"):
        compared(tfport.Session(load("tables_in_memory")), tmp_path, {})


def test_tables_are_in_the_file(tmp_path):
    session = tfport.Session(load("table_from_file"))
    signature = select_signature(session.model)
    words = np.array([b"a", b"emerson", b"lake", b"palmer", b"x", b""], object)
    inputs = dict.fromkeys(signature.inputs, words)
    answers, expected = compared(session, tmp_path, inputs)
    assert [a.tolist() for a in answers] == [text(e).tolist() for e in expected]


@pytest.mark.parametrize(
    ("graph", "why"),
    [
        (
            "x = Placeholder() {dtype=string, shape=(?,)}\ny = StringLower(x)",
            "`y` (StringLower)",
        ),
        ("x = Placeholder() {dtype=float32, shape=(?,)}\ny = AsString(x) {T=float32}", "in another form"),
    ],
)
def test_what_is_not_exact_is_not_lowered(graph, why, tmp_path):
    session = session_of(graph)
    with pytest.raises(tfport.CannotRun) as refused:
        compared(session, tmp_path, {})
    assert why in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_run_keeps_strings_on_the_host():
    session = session_of("x = Placeholder() {dtype=string, shape=(?,)}\ny = StringJoin(x, x) {N=2}")
    assert session.run("y:0", {"x:0": np.array([b"\xff"], object)}).tolist() == [b"\xff\xff"]


SPECTRA = """
    x = Placeholder() {dtype=float32, shape=(?, 6, 24)}
    n16 = Const() {dtype=int32, value=int32(1)[16]}
    n20 = Const() {dtype=int32, value=int32(1)[20]}
    n2d = Const() {dtype=int32, value=int32(2)[6, 16]}
    s16 = RFFT(x, n16) {Treal=float32, Tcomplex=complex64}
    s20 = RFFT(x, n20) {Treal=float32, Tcomplex=complex64}
    s2d = RFFT2D(x, n2d) {Treal=float32, Tcomplex=complex64}
    magnitude16 = ComplexAbs(s16) {T=complex64, Tout=float32}
    magnitude20 = ComplexAbs(s20) {T=complex64, Tout=float32}
    magnitude2d = ComplexAbs(s2d) {T=complex64, Tout=float32}
    real = Real(s20) {T=complex64, Tout=float32}
    imaginary = Imag(s16) {T=complex64, Tout=float32}
    angle = Angle(s16) {T=complex64, Tout=float32}
    product = Mul(s16, s16) {T=complex64}
    squared = Real(product) {T=complex64, Tout=float32}
    inverse16 = IRFFT(s16, n16) {Treal=float32, Tcomplex=complex64}
    inverse20 = IRFFT(s20, n20) {Treal=float32, Tcomplex=complex64}
    inverse2d = IRFFT2D(s2d, n2d) {Treal=float32, Tcomplex=complex64}
    z = Cast(x) {SrcT=float32, DstT=complex64}
    f = FFT(z) {Tcomplex=complex64}
    g = IFFT2D(f) {Tcomplex=complex64}
    whole = Imag(g) {T=complex64, Tout=float32}
    sum = AddV2(s16, product) {T=complex64}
    conjugate = Conj(sum) {T=complex64}
    last = Imag(conjugate) {T=complex64, Tout=float32}
"""


@pytest.mark.parametrize(
    "output",
    [
        "magnitude16",
        "magnitude20",
        "magnitude2d",
        "real",
        "imaginary",
        "angle",
        "squared",
        "inverse16",
        "inverse20",
        "inverse2d",
        "whole",
        "last",
    ],
)
def test_transforms_are_computed_by_the_file(output, tmp_path):
    session = session_of(SPECTRA)
    signature = select_signature(session.model, fetches=[output], feeds=["x"])
    (answer,), (expected,) = compared(session, tmp_path, {"x": SAMPLES}, signature)
    assert answer.shape == expected.shape
    np.testing.assert_allclose(answer, expected, rtol=2e-5, atol=1e-5)


def test_angles(tmp_path):
    session = session_of("""
        y = Placeholder() {dtype=float32, shape=(?,)}
        x = Placeholder() {dtype=float32, shape=(?,)}
        z = Atan2(y, x) {T=float32}
    """)
    numbers = np.float32([0, -0.0, 1, -1, 2.5, -3, np.inf, -np.inf, np.nan, 1e-30, 1e30])
    y, x = (grid.reshape(-1) for grid in np.meshgrid(numbers, numbers))
    np.testing.assert_allclose(session.run("z:0", {"y:0": y, "x:0": x}), np.arctan2(y, x), rtol=3e-7)


RESIZED = """
    x = Placeholder() {dtype=float32, shape=(?, SIZES, 3)}
    size = Const() {dtype=int32, value=int32(2)[9, 4]}
    scale = Const() {dtype=float32, value=float32(2)[1.75, 0.5]}
    move = Const() {dtype=float32, value=float32(2)[0.25, -0.5]}
    y = ScaleAndTranslate(x, size, scale, move) {T=float32, kernel_type="KERNEL", antialias=true}
"""


@pytest.mark.parametrize("kernel", ["lanczos5", "gaussian", "triangle"])
def test_images_are_resized_by_products(kernel, tmp_path):
    session = session_of(RESIZED.replace("SIZES", "5, 8").replace("KERNEL", kernel))
    images = np.random.default_rng(0).standard_normal((2, 5, 8, 3)).astype(np.float32)
    (answer,), (expected,) = compared(session, tmp_path, {"x": images})
    np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-6)


def test_images_of_unknown_sizes_are_not_resized(tmp_path):
    session = session_of(RESIZED.replace("SIZES", "?, 8").replace("KERNEL", "gaussian"))
    with pytest.raises(tfport.CannotRun, match=r"height or width of its images is unknown; --input-shape"):
        compared(session, tmp_path, {})


@pytest.mark.parametrize("op", ["RandomUniform", "RandomStandardNormal"])
def test_random_numbers_without_a_seed_are_those_of_the_engine(op, tmp_path):
    session = session_of(f"""
        n = Placeholder() {{dtype=int32, shape=(2,)}}
        y = {op}(n) {{dtype=float32, T=int32, seed=0, seed2=0}}
    """)
    (answer,), (expected,) = compared(session, tmp_path, {"n": np.int32([300, 200])})
    assert answer.shape == expected.shape
    assert abs(answer.mean() - expected.mean()) < 0.02
    assert abs(answer.std() - expected.std()) < 0.02


def test_random_numbers_of_a_seed_are_refused(tmp_path):
    session = session_of("""
        n = Placeholder() {dtype=int32, shape=(2,)}
        y = RandomUniform(n) {dtype=float32, T=int32, seed=1, seed2=0}
    """)
    with pytest.raises(tfport.CannotRun, match="its seed gives the numbers of TensorFlow's generator"):
        compared(session, tmp_path, {})


def test_random_numbers_in_a_loop(tmp_path):
    session = session_of("""
        n = Placeholder() {dtype=int32, shape=()}
        x = Placeholder() {dtype=float32, shape=(200)}
        w = While(n, x) {T=[int32, float32], cond=@more, body=@next}
        y = Identity(w:1) {T=float32}
        def more(n: int32, x: float32) -> (r: bool):
          zero = Const() {dtype=int32, value=int32()[0]}
          go = Greater(n, zero) {T=int32}
          return r=go
        def next(n: int32, x: float32) -> (n1: int32, x1: float32):
          one = Const() {dtype=int32, value=int32()[1]}
          left = Sub(n, one) {T=int32}
          size = Const() {dtype=int32, value=int32(1)[200]}
          drawn = RandomUniform(size) {dtype=float32, T=int32, seed=0, seed2=0}
          sum = AddV2(x, drawn) {T=float32}
          return n1=left, x1=sum
    """)
    (answer,), _ = compared(session, tmp_path, {"n": np.array(100, np.int32), "x": np.zeros(200, np.float32)})
    assert abs(answer.mean() - 50) < 1
    assert 1 < answer.std() < 5
