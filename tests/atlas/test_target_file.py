"""Target files: writing, reading, and damaged files."""

import sqlite3

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.atlas.small_atlas import kernel
from tests.error_messages import reads_or_raises_one_line

from tfport.atlas.known_ops import KnownOps
from tfport.atlas.record_target import record_target
from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.target_file import open_target_file, write_target_file
from tfport.errors import Error
from tfport.formats.proto.graph_pb2 import OpDef

BUILD = {"package": "tensorflow", "version": "2.8.4", "platform": "x86_64", "wheel": "", "sha256": ""}
OPS = [("", OpDef(name="MatMul", summary="prose")), ("contrib/x.so", OpDef(name="Extra"))]
KERNELS = [("", kernel("MatMul", "CPU")), ("", kernel("MatMul", "CPU")), ("", kernel("MatMul", "GPU"))]


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "my.target"
    write_target_file(path, BUILD, {"recorded_from": "build"}, OPS, KERNELS)
    return path


def test_a_target_file_is_read_as_it_was_written(target):
    (resolved,) = resolve_targets(str(target))
    assert (resolved.name, resolved.kind, resolved.requirement) == (
        "tensorflow 2.8.4 (my.target)",
        "recorded",
        str(target),
    )
    assert list(resolved.registry) == ["MatMul"]
    assert resolved.registry["MatMul"] == OpDef(name="MatMul")
    assert sorted(k.device for k in resolved.registry.kernels("MatMul")) == ["CPU", "GPU"]
    assert resolved.build.facts == {"recorded_from": "build"}


def test_the_ops_of_a_target_file(target):
    known = KnownOps(open_target_file(str(target)))
    assert sorted(known) == ["Extra", "MatMul"]
    assert (known.releases("Extra"), known.providers("Extra")) == (("2.8.4", "2.8.4"), ["contrib/x.so"])
    assert (known["MatMul"].name, known.providers("MatMul")) == ("MatMul", [])


def test_a_target_file_is_recognized_by_its_content(target):
    target.rename(target.with_name("server"))
    (resolved,) = resolve_targets(f"{target.parent}/server")
    assert resolved.kind == "recorded"


CHANGES = [  # what was done to the file                      the sentence
    ("CREATE VIEW v AS SELECT 1", "not a recorded target: it has views or triggers"),
    ("DELETE FROM build", "expected one build in a recorded target, found 0"),
    ("INSERT INTO build SELECT 1, package, version, platform, wheel, sha256, facts FROM build",
     "damaged: the build has number 1, expected 0"),
    ("UPDATE build SET version = 'new'", "'new' is not a release number; expected one such as 2.8.4"),
    ("UPDATE build SET version = NULL", "damaged: "),
    ("UPDATE build SET facts = '[]'", "damaged: the facts of the build are not a JSON object"),
    ("UPDATE build SET facts = '{'", "damaged, or not a recorded target: "),
    ("UPDATE op SET definition = x'ffff'", "damaged, or not a recorded target: "),
    ("UPDATE op SET name = 'Other'", "damaged: the definition of 'Other' belongs to another op"),
    ("UPDATE op SET definition = NULL", "damaged: a row of `op` has values of wrong types"),
    ("UPDATE kernels SET kernels = x'00'", "damaged: the kernels of 'MatMul' belong to another"),
    ("UPDATE kernels SET op = 'Other'", "damaged: the kernels of 'Other' belong to another op"),
    ("DROP TABLE op", "damaged, or not a recorded target: no such table: op"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "sentence"), CHANGES, ids=[row[0] for row in CHANGES])
def test_a_damaged_file_is_an_error(change, sentence, target):
    database = sqlite3.connect(target)
    database.execute(change)
    database.commit()
    database.close()
    with pytest.raises(Error) as raised:
        open_target_file(str(target))
    assert str(raised.value).startswith(f"{target}: ")
    assert sentence in str(raised.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(16, 20_000), st.binary(min_size=1, max_size=40))
@example(3627, b'"')
def test_any_bytes_give_a_target_or_an_error(target, at, noise):
    data = bytearray(target.read_bytes())
    data[at : at + len(noise)] = noise
    broken = target.with_name("broken.target")
    broken.write_bytes(data)
    with reads_or_raises_one_line():
        for resolved in resolve_targets(str(broken)):
            for op in resolved.registry:
                resolved.registry.kernels(op)


REFUSED = [  # file and content                              message
    ("no/such/file", None, "no/such/file: no such file or folder"),
    ("model.pb", b"", "expected a wheel, a site-packages folder or a libtensorflow*.so"),
    ("libtensorflow.so", b"not a library", "not a Linux library"),
    (
        "libtensorflow.so.2",
        b"\x7fELF" + bytes(14) + b"\x2a\x00",
        "built for another machine, but this machine is ",
    ),
    ("tensorflow-2.8.4-cp38-cp38-linux_x86_64.whl", b"PK", "cannot unpack this wheel: "),
    ("tensorflow-2.8.4.whl", b"PK", "not the file name of a wheel"),
]


@pytest.mark.parametrize(("name", "content", "sentence"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_cannot_be_recorded_is_an_error(name, content, sentence, tmp_path):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Error) as raised:
        record_target(str(path), str(tmp_path / "out.target"))
    assert sentence in str(raised.value)
    assert not (tmp_path / "out.target").exists()


def test_a_folder_without_tensorflow_is_an_error(tmp_path):
    with pytest.raises(
        Error, match=r"no TensorFlow in this folder; expected tensorflow/libtensorflow_framework"
    ):
        record_target(str(tmp_path), str(tmp_path / "out.target"))


def test_a_library_that_does_not_load_is_an_error(tmp_path):
    import platform

    machine = {"x86_64": b"\x3e\x00", "aarch64": b"\xb7\x00"}[platform.machine()]
    library = tmp_path / "libtensorflow.so"
    library.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(11) + machine + bytes(100))
    messages = []
    with pytest.raises(Error, match=r"cannot be recorded: .*libtensorflow\.so"):
        record_target(str(library), str(tmp_path / "out.target"), notify=messages.append)
    assert messages == [
        f"{library}: loading its library, which runs code in it, "
        "in a separate process limited to 600 s and 16 GB"
    ]
