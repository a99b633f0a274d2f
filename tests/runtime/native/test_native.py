"""Custom ops in C++: each kind in a session, errors of kernels, libraries that cannot be loaded."""

import gc
import os
import platform
import re
import shutil
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from tests.built_ops import broken, library, needs_compiler
from tests.runtime.programs import session_of

import tfport
from tfport.runtime.export import export_signature
from tfport.runtime.native.tvm_ffi import installed_tvm_ffi
from tfport.runtime.select_signature import select_signature

pytestmark = needs_compiler
LIBRARIES = Path(__file__).parents[2] / "libraries"
X = "x = Placeholder() {dtype=float32}\n"
MAGIC = b"tfport\n\0"


@pytest.fixture(scope="module")
def registry():
    registry = tfport.Registry()
    tfport.load_op_library(library("ops"), registry)
    return registry


@pytest.fixture
def run(registry):
    """The outputs of the node `y` of a graph, with `x` fed."""

    def run(text, feeds=None, outputs=1):
        fed = {f"{name}:0": value for name, value in (feeds or {}).items()}
        return session_of(text, registry=registry).run([f"y:{i}" for i in range(outputs)], fed)

    return run


@pytest.mark.parametrize(("dtype", "by"), [("float32", 0.5), ("float64", -3.0)])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
def test_elementwise(run, dtype, by, shape):
    x = np.arange(np.prod(shape, dtype=int), dtype=dtype).reshape(shape)
    (y,) = run(f"x = Placeholder() {{dtype={dtype}}}\ny = Native>Scale(x) {{T={dtype}, by={by}}}", {"x": x})
    assert (y.dtype, y.shape) == (x.dtype, x.shape)
    np.testing.assert_array_equal(y, x * by)


def test_the_bits_of_a_type_that_dlpack_does_not_share_with_numpy(run):
    x = np.array([1.5, -2], ml_dtypes.bfloat16)
    (y,) = run("x = Placeholder() {dtype=bfloat16}\ny = Native>Scale(x) {T=bfloat16}", {"x": x})
    assert y.dtype == ml_dtypes.bfloat16
    assert y.tolist() == [-1.5, 2]


def test_a_size_that_depends_on_the_data(run):
    (y,) = run("x = Placeholder() {dtype=int64}\ny = Native>Distinct(x)", {"x": [[5, 1, 5], [1, 1, 9]]})
    assert y.tolist() == [1, 5, 9]


def test_several_outputs(run):
    arrays = run(X + "y = Native>Extremes(x)", {"x": [3.0, -1.0, 2.0]}, outputs=4)
    assert [array.tolist() for array in arrays] == [-1, 3, 3, True]
    assert [str(array.dtype) for array in arrays] == ["float32", "float32", "int32", "bool"]


def test_strings(run):
    text = "x = Placeholder() {dtype=string}\nn = Const() {dtype=int32, value=int32()[2]}\n"
    words = np.array([[b"a", b"", "ä".encode()], [b"longer than a pointer", b"\0\0", b"z"]], object)
    out, lengths = run(text + 'y = Native>Repeat(x, n) {between="-"}', {"x": words}, outputs=2)
    twice = [[word + b"-" + word for word in row] for row in words]
    assert out.tolist() == twice
    assert lengths.tolist() == [[len(word) for word in row] for row in twice]


def test_no_strings_at_all(run):
    text = "x = Placeholder() {dtype=string}\nn = Const() {dtype=int32, value=int32()[2]}\n"
    (out,) = run(text + "y = Native>Repeat(x, n)", {"x": np.empty((0, 2), object)})
    assert out.shape == (0, 2)


def test_lists_of_tensors(run):
    text = X + "w = Placeholder() {dtype=float64}\ny = Native>Halves(x, w, w, w) {N=3, T=float64}"
    sums, *parts = run(text, {"x": 1.0, "w": [2.0, 4.0]}, outputs=4)
    assert sums.tolist() == [7, 7, 7]
    assert [part.tolist() for part in parts] == [[1, 2]] * 3


def test_state_belongs_to_a_node_of_a_session(registry):
    text = "y = Native>Count()\nz = Native>Count()"
    first, second = (session_of(text, registry=registry) for _ in range(2))
    assert [int(first.run("y:0")) for _ in range(3)] == [1, 2, 3]
    assert (first.run("z:0"), second.run("y:0")) == (1, 1)
    assert [int(value) for value in first.run(["y:0", "z:0"])] == [4, 2]


def test_state_is_released_with_its_session(registry):
    living = session_of("y = Native>Living()", registry=registry)
    before = int(living.run("y:0"))
    session = session_of("y = Native>Count()", registry=registry)
    session.run("y:0")
    assert living.run("y:0") == before + 1
    del session
    gc.collect()
    assert living.run("y:0") == before


def test_attributes_of_every_kind(run):
    attrs = 'i=-7, f=0.5, b=true, s="tea", t=int32, h=(2,3), is=[4, 5], ss=["u", "v"]'
    (message,) = run(f"y = Native>Attributes() {{{attrs}}}")
    assert message.item() == b"-7 0.500000 yes tea int32 2 3 4 5 u v 0"


def test_a_kernel_of_one_of_tensorflows_ops(run):
    (y,) = run(X + "y = Softsign(x) {T=float32}", {"x": [1.0, 2.0]})
    assert y.tolist() == [42, 42]


def test_inputs_that_are_read_only_or_not_contiguous(run):
    text = X + "y = Native>Scale(x) {T=float32}"
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(run(text, {"x": x.T})[0], 2 * x.T)
    x.flags.writeable = False
    np.testing.assert_array_equal(run(text, {"x": x})[0], 2 * x)


def test_an_output_outlives_its_session_and_is_writable(registry):
    session = session_of(X + "y = Native>Scale(x) {T=float32}", registry=registry)
    y = session.run("y:0", {"x:0": np.ones(1000, np.float32)})
    del session
    y += 1
    assert y.sum() == 3000


WRONG = [
    ("throws", "x must be positive, äh"),
    ("throws a number", "the kernel threw something that is not a std::exception"),
    ("makes none", "the kernel did not allocate output 0"),
    ("asks for another type", "input 0 is float32; the kernel expects float64"),
    ("asks for another attribute", "attribute how is not of type int"),
    ("asks for none such", "the op has no attribute nothing"),
    ("asks for another input", "there is no input 1"),
    ("makes another output", "there is no output 1"),
    ("makes another type", "output 0 is float32; the kernel expects float64"),
    ("has a negative size", "invalid shape of a tensor"),
    ("has no memory", f"not enough memory for an output of {1 << 62} bytes"),
    ("overflows", "invalid shape of a tensor"),
    ("makes it twice", "output 0 is allocated twice"),
    ("looks beyond", "element 2 is out of bounds for a tensor of size 2"),
    ("writes behind", "the kernel wrote outside the memory of output 0"),
    ("writes before", "the kernel wrote outside the memory of output 0"),
]


@pytest.mark.parametrize(("how", "message"), WRONG, ids=[how for how, _ in WRONG])
def test_an_error_of_a_kernel_names_its_node(run, how, message):
    with pytest.raises(tfport.RunFailed) as error:
        run(X + f'y = Native>Wrong(x) {{how="{how}"}}', {"x": [1.0, 2.0]})
    assert str(error.value) == f"`y` (Native>Wrong): {message}"


def test_a_type_without_a_kernel_is_reported_before_anything_runs(run):
    with pytest.raises(tfport.CannotRun, match=r"`y` .Native>Scale.: .*T=bool"):
        run("x = Placeholder() {dtype=bool}\ny = Native>Scale(x) {T=bool}", {"x": [True]})


def test_a_kernel_runs_without_the_gil(registry):
    session = session_of("x = Placeholder() {dtype=int64}\ny = Native>Wait(x)", registry=registry)
    watched = np.zeros(1, np.int64)

    def write():
        time.sleep(0.05)
        watched[0] = 1

    thread = threading.Thread(target=write)
    thread.start()
    assert session.run("y:0", {"x:0": watched})
    thread.join()


def test_many_threads_call_at_once(registry):
    session = session_of(X + "y = Native>Scale(x) {T=float32, by=2.0}\nz = Native>Count()", registry=registry)

    def ask(i):
        y, _ = session.run(["y:0", "z:0"], {"x:0": np.full(50, i, np.float32)})
        return bool((y == 2 * i).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(300)))
    assert session.run("z:0") == 301


def test_check_finds_nothing_with_the_registry_and_names_the_op_without(registry):
    model = tfport.load(b'node { name: "y" op: "Native>Count" }', registry=registry)
    assert tfport.check(model, on="tfport", registry=registry).verdict == "runs"
    assert tfport.check(model, on="tfport").verdict != "runs"


def test_export_lists_it_as_not_lowered(registry, tmp_path):
    session = session_of(X + "y = Native>Scale(x) {T=float32}\nz = Neg(y) {T=float32}", registry=registry)
    with pytest.raises(
        tfport.CannotRun, match=r"1 node cannot be exported to ONNX, only run: `y` \(Native>Scale\)"
    ):
        export_signature(session, select_signature(session.model), str(tmp_path / "model.onnx"))


def test_loading_a_file_twice_is_harmless(registry, tmp_path, monkeypatch):
    before = registry.table()
    monkeypatch.chdir(Path(library("ops")).parent)
    assert "Native>Scale" in tfport.load_op_library("libops.so", registry)
    assert [row.op for row in registry.table()] == [row.op for row in before]
    assert [len(row.kernels) for row in registry.table()] == [len(row.kernels) for row in before]
    assert registry.provider_of("Native>Scale") == "libops.so"


def test_a_rebuilt_library_is_loaded_again(tmp_path):
    path = str(tmp_path / "op.so")
    for number in (1, 2):
        shutil.copy(library("again", f"-DNUMBER={number}"), tmp_path / "new.so")
        os.replace(tmp_path / "new.so", path)
        registry = tfport.Registry()
        tfport.load_op_library(path, registry)
        assert session_of("y = Native>Number()", registry=registry).run("y:0") == number
    with open(path, "r+b") as file:
        file.write(b"\x7fELF")
    os.utime(path)
    with pytest.raises(tfport.BadLibrary, match="overwritten since it was loaded"):
        tfport.load_op_library(path, tfport.Registry())


def test_registries_do_not_see_each_others_libraries(registry):
    other = tfport.Registry()
    assert other.definition_of("Native>Scale") is None
    tfport.load_op_library(library("ops"), other)
    assert other.definition_of("Native>Scale") is not None


def test_a_library_with_a_name_that_is_taken_registers_nothing(registry):
    other = tfport.Registry()
    other.op("Native>Count: () -> n: int32")
    with pytest.raises(
        tfport.BadRegistration, match=r"op Native>Count is already registered by .*test_native\.py"
    ):
        tfport.load_op_library(library("ops"), other)
    assert list(other.definitions) == ["Native>Count"]
    assert not other.kernels


BROKEN = [
    ("THROWS", "loading it ends the process (SIGABRT): no licence found"),
    ("ABORTS", "loading it ends the process (SIGABRT)"),
    ("EXITS", "loading it ends the process (exit code 0)"),
    ("LACKS_A_SYMBOL", "needs acme::missing, which none of its libraries defines"),
    ("HAS_A_BAD_CONSTRAINT", "a kernel of Native>Broken has the constraint `float`; expected `T=float`"),
]


@pytest.mark.parametrize(("how", "message"), BROKEN, ids=[how for how, _ in BROKEN])
def test_a_broken_library_is_an_error(how, message):
    path = broken(how)
    with pytest.raises(tfport.BadLibrary) as error:
        tfport.load_op_library(path, tfport.Registry())
    assert str(error.value) == f"{path}: {message}"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("HAS_A_BAD_SPEC", "`T` is neither a type nor an attribute"),
        ("HAS_NO_OP", "a kernel of the unknown op Native>Broken"),
        ("HAS_A_BAD_TYPE", "the kernel of Native>Broken is for T=flaot, which is not an element type"),
    ],
)
def test_invalid_registrations_are_errors(how, message):
    with pytest.raises(tfport.BadRegistration, match=re.escape(message)):
        tfport.load_op_library(broken(how), tfport.Registry())


def test_a_library_may_register_nothing():
    assert tfport.load_op_library(broken("REGISTERS_NOTHING"), tfport.Registry()) == []


PATCHED = [  # the place of a number behind the magic, what is written there, and message
    (0, 7, "built for ABI 7 of tfport; this tfport has 1: rebuild it with `tfport lib build`"),
    (1, 9, "built with tfport/op.h 9.0; this tfport has 1.0: rebuild it with `tfport lib build`"),
    (2, 4, "built with tfport/op.h 1.4; this tfport has 1.0: rebuild it with `tfport lib build`"),
    (4, 77, "built with tvm-ffi 0.77.16; here is"),
]


@pytest.mark.parametrize(("place", "number", "message"), PATCHED)
def test_another_version_is_an_error_before_loading(place, number, message, tmp_path):
    data = bytearray(Path(library("ops")).read_bytes())
    at = data.index(MAGIC) + len(MAGIC) + 4 * place
    data[at : at + 4] = struct.pack("<I", number)
    path = tmp_path / "op.so"
    path.write_bytes(data)
    with pytest.raises(tfport.BadLibrary, match=re.escape(message.partition("16; ")[0])):
        tfport.load_op_library(path, tfport.Registry())


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.3, 0.6])
def test_a_truncated_library_is_an_error(share, tmp_path):
    data = Path(library("ops")).read_bytes()
    path = tmp_path / "op.so"
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(tfport.BadLibrary, match=r"truncated|empty file"):
        tfport.load_op_library(path, tfport.Registry())


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("good", "a library for x86-64, not for ARM64")
        if platform.machine() == "aarch64"
        else ("arm64", "a library for ARM64, not for x86-64"),
        ("lfs_pointer", "a Git LFS pointer, not the file itself"),
        ("nowhere", "no such file"),
    ],
)
def test_a_file_that_is_not_a_library_for_this_machine(case, message):
    with pytest.raises(tfport.BadLibrary, match=message):
        tfport.load_op_library(LIBRARIES / case / "op.so", tfport.Registry())


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the libraries of the tests are for x86-64")
def test_a_library_for_tensorflow_is_an_error_with_its_diagnosis():
    with pytest.raises(tfport.BadLibrary) as error:
        tfport.load_op_library(LIBRARIES / "for_2_16_2" / "op.so", tfport.Registry())
    message = str(error.value)
    assert "a library for TensorFlow, built with TensorFlow 2.16.1 to 2.19.1" in message
    assert "it registers AcmeCopy" in message
    assert "port its ops with `tfport lib new`" in message


def test_a_library_without_registrations_is_an_error():
    with pytest.raises(tfport.BadLibrary, match="registers no ops with tfport"):
        tfport.load_op_library(installed_tvm_ffi().library, tfport.Registry())


def test_without_tvm_ffi_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(tfport.Error, match=re.escape('pip install "tfport[native]"')):
        tfport.load_op_library(library("ops"), tfport.Registry())
