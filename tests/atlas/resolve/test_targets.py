"""Targets: text to names, devices and notes, or to a helpful error."""

import hashlib
import os
import re
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.version import Version
from tests.atlas.small_atlas import small_atlas

from tfport.atlas.atlas import atlas as real_atlas
from tfport.atlas.resolve.targets import resolve_targets
from tfport.errors import Error

INSTEAD = (
    "expected a package such as tensorflow==2.8.4, an image such as tensorflow/serving:2.8.0, "
    "a requirements or lock file, a Dockerfile, an environment or a wheel"
)
TWO_FOUR = ["tensorflow 2.4.3", "tensorflow 2.4.4"]
TWO_EIGHT = ["tensorflow 2.8.0", "tensorflow 2.8.3", "tensorflow 2.8.4"]
NAMES = [  # text                           names                                             device
    ("tensorflow==2.8.4",                   ["tensorflow 2.8.4"],                             "cpu"),
    ("tensorflow==2.8",                     ["tensorflow 2.8.4"],                             "cpu"),
    ("TensorFlow == 2.8",                   ["tensorflow 2.8.4"],                             "cpu"),
    ("tensorflow==2",                       ["tensorflow 2.20.0"],                            "cpu"),
    ("2.8",                                 ["tensorflow 2.8.4"],                             "cpu"),
    ("v2.8.3",                              ["tensorflow 2.8.3"],                             "cpu"),
    ("tf 2.8",                              ["tensorflow 2.8.4"],                             "cpu"),
    ("TF==2.8.3",                           ["tensorflow 2.8.3"],                             "cpu"),
    ("tf>=2.4,<2.8",                        [*TWO_FOUR, "tensorflow 2.5.3"],                  "cpu"),
    ("serving 2.8",                         ["tensorflow-serving 2.8.4"],                     "cpu"),
    ("keras 2",                             ["keras 2.15.0"],                                 "cpu"),
    ("tf 2.8 tensorflow-text 2.8.2",        ["tensorflow 2.8.4 + tensorflow-text 2.8.2"],     "cpu"),
    ("tensorflow",                          ["tensorflow 2.20.0"],                            "cpu"),
    ("tensorflow>=2.4,<2.8",                [*TWO_FOUR, "tensorflow 2.5.3"],                  "cpu"),
    ("tensorflow >= 2.4, < 2.5",            TWO_FOUR,                                         "cpu"),
    ("tensorflow~=2.8.0",                   TWO_EIGHT,                                        "cpu"),
    ("tensorflow==2.8.*",                   TWO_EIGHT,                                        "cpu"),
    ("tensorflow~=2.8.0,!=2.8.3",           ["tensorflow 2.8.0", "tensorflow 2.8.4"],         "cpu"),
    ("tensorflow===2.8.0",                  ["tensorflow 2.8.0"],                             "cpu"),
    ("tensorflow[and-cuda]==2.15",          ["tensorflow 2.15.0"],                            "gpu"),
    ("tensorflow-gpu==1.4.1",               ["tensorflow-gpu 1.4.1"],                         "gpu"),
    ("tensorflow-gpu==1.12",                ["tensorflow-gpu 1.12.3"],                        "gpu"),
    ("tensorflow-gpu==2.8",                 ["tensorflow-gpu 2.8.4"],                         "gpu"),
    ("tensorflow_gpu>=1.12,<2.5",           ["tensorflow-gpu 1.12.3", "tensorflow-gpu 2.4.3",
                                             "tensorflow-gpu 2.4.4"],                         "gpu"),
    ("tensorflow-cpu==2.8",                 ["tensorflow-cpu 2.8.4"],                         "cpu"),
    ("tensorflow-intel==2.11",              ["tensorflow-intel 2.11.0"],                      "cpu"),
    ("tensorflow-cpu-aws==2.20",            ["tensorflow-cpu-aws 2.20.0 (aarch64)"],          "cpu"),
    ("tensorflow-serving==2.8",             ["tensorflow-serving 2.8.4"],                     "cpu"),
    ("tensorflow-serving-api==2.8.3",       ["tensorflow-serving 2.8.3"],                     "cpu"),
    ("tensorflow-serving>=2.8.3,<2.10",     ["tensorflow-serving 2.8.3", "tensorflow-serving 2.8.4",
                                             "tensorflow-serving 2.9.0", "tensorflow-serving 2.9.1",
                                             "tensorflow-serving 2.9.2", "tensorflow-serving 2.9.3"], "cpu"),
    ("tensorflow-serving-api-gpu==2.12",    ["tensorflow-serving 2.12.2"],                    "gpu"),
    ("tensorflow==2.8.4 tensorflow-text==2.8.2", ["tensorflow 2.8.4 + tensorflow-text 2.8.2"], "cpu"),
    ("tensorflow==2.8.4, tensorflow-text==2.8.2", ["tensorflow 2.8.4 + tensorflow-text 2.8.2"], "cpu"),
    ("tensorflow==2.8.4\ntensorflow-text==2.8.2\n", ["tensorflow 2.8.4 + tensorflow-text 2.8.2"], "cpu"),
    ("tensorflow-text tensorflow==2.8.4",   ["tensorflow 2.8.4 + tensorflow-text 2.8.2"],     "cpu"),
    ("tensorflow==2.8.4 acme-ops",          ["tensorflow 2.8.4"],                             "cpu"),
    ('tensorflow==2.8.4; sys_platform == "linux"', ["tensorflow 2.8.4"],                      "cpu"),
]  # fmt: skip
NOTES = [  # text                        note
    ("tensorflow==2.8.4", []),
    ("tensorflow-gpu==1.4.1", []),
    ("tensorflow-gpu==2.8",
     ["tensorflow-gpu is another name of TensorFlow since 2.1: tensorflow 2.8.4 is used instead"]),
    ("tensorflow-macos==2.9",
     ["tensorflow-macos is Apple's build for macOS: tensorflow 2.9.0 is used instead"]),
    ("tensorflow==2.8.4+nv22", ["tensorflow 2.8.4+nv22 is not recorded: 2.8.4 is used instead"]),
    ("tensorflow==2.15.0.post1", ["tensorflow 2.15.0.post1 is not recorded: 2.15.0 is used instead"]),
    ("tensorflow==2.8.4 acme-ops==1", ["acme-ops is not recorded: its ops are unknown"]),
    ("tensorflow==2.8.4 tensorflow-text==2.8.1",
     ["tensorflow-text 2.8.1 is not recorded: 2.8.2 is used instead"]),
    ("tensorflow==2.8.4 tensorflow-text", ["tensorflow-text: 2.8.2 is the newest recorded release"]),
    ("tensorflow==2.4.4 tensorflow-text==2.8.2",
     ["tensorflow-text 2.8.2 requires tensorflow>=2.8.0,<2.9, so it may not load in "
      "tensorflow 2.4.4"]),
    ("tensorflow-serving==2.8",
     ["derived from Serving's sources, not measured: they link tensorflow-text 2.6.0 into TensorFlow"]),
    ("tensorflow-serving==2.9.3",
     ["tensorflow 2.9.3 is not recorded: 2.9.0 is used instead",
      "derived from Serving's sources, not measured: they link tensorflow-text 2.6.0 into TensorFlow"]),
    ("tensorflow-serving==2.11.0",
     ["derived from Serving's sources, not measured: they link tensorflow-text 2.8.2 and "
      "tensorflow-decision-forests 1.0.1 into TensorFlow",
      "tensorflow-decision-forests 1.0.1 is not recorded: 1.2.0 is used instead"]),
    ("tensorflow-serving==1.12.3",
     ["derived from Serving's sources, not measured: TensorFlow with the contrib ops that 1.x links in"]),
]  # fmt: skip
ERRORS = [  # text                       the sentence
    ("", f"the target is empty; {INSTEAD}"),
    ("tfport", "`tfport` is not a TensorFlow release here; name one, such as tensorflow==2.8.4"),
    ("tensorflow==2.8.9",
     "tensorflow 2.8.9 is not recorded; nearest: 2.8.4 and 2.9.0; recorded: 1.4.1 to 2.20.0"),
    ("tensorflow==3", "tensorflow 3 is not recorded; nearest: 2.20.0; recorded: 1.4.1 to 2.20.0"),
    ("tensorflow==0.12",
     "tensorflow 0.12 is not recorded; nearest: 1.4.1; recorded: 1.4.1 to 2.20.0"),
    ("tensorflow==2.8.0rc1",
     "tensorflow 2.8.0rc1 is not recorded; nearest: 2.5.3 and 2.8.0; recorded: 1.4.1 to 2.20.0"),
    ("tensorflow>=2.6,<2.8",
     "no recorded release of tensorflow matches <2.8,>=2.6; recorded: 1.4.1 to 2.20.0"),
    ("tensorflow-gpu==2.12.1",
     "tensorflow-gpu 2.12.1 is not recorded; nearest: 2.11.0; recorded: 1.4.1 to 2.11.0"),
    ("tensorfow==2.8", "tensorfow is not recorded; did you mean tensorflow?"),
    ("pandas==2", "pandas is not recorded; `tfport targets` lists what is recorded"),
    ("tf-nightly==2.9.0.dev2", "tf-nightly is a nightly build; final releases are recorded; "
     "`tfport targets record` records any wheel"),
    ("tensorflow-text==2.8.2", "tensorflow-text is an add-on: name the TensorFlow it is used with, "
     "such as 'tensorflow tensorflow-text==2.8.2'"),
    ("tensorflow=2.8", "tensorflow=2.8 has one equals sign; write tensorflow==2.8"),
    ("tensorflow==2.8.4 tensorflow==2.9.0",
     "several TensorFlow packages in one target, tensorflow==2.8.4 and tensorflow==2.9.0; "
     "name them one at a time"),
    ("tensorflow==2.8.4; sys_platform == 'win32'",
     "tensorflow==2.8.4; sys_platform == 'win32': its marker excludes Linux or this Python"),
    ("no/such/requirements.txt", "no/such/requirements.txt: no such file or folder"),
    ("ftp://example.org/tf.whl", "ftp://example.org/tf.whl is a URL, not a path; download the file first"),
]  # fmt: skip


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    return small_atlas(tmp_path_factory.mktemp("atlas"))


@pytest.mark.parametrize(("text", "names", "device"), NAMES, ids=[row[0] for row in NAMES])
def test_names(text, names, device, atlas):
    targets = resolve_targets(text, atlas=atlas)
    assert [target.name for target in targets] == names
    assert {target.device for target in targets} == {device}


@pytest.mark.parametrize("text", [row[0] for row in NAMES])
def test_a_requirement_names_the_same_target_again(text, atlas):
    for target in resolve_targets(text, atlas=atlas):
        (again,) = resolve_targets(target.requirement, atlas=atlas)
        assert (again.name, again.build, again.addons) == (target.name, target.build, target.addons)


@pytest.mark.parametrize(("text", "notes"), NOTES, ids=[row[0] for row in NOTES])
def test_notes_list_what_was_derived(text, notes, atlas):
    (target,) = resolve_targets(text, atlas=atlas)
    assert target.notes == notes


@pytest.mark.parametrize(("text", "sentence"), ERRORS, ids=[row[0] for row in ERRORS])
def test_error_messages(text, sentence, atlas):
    with pytest.raises(Error) as raised:
        resolve_targets(text, atlas=atlas)
    assert str(raised.value) == sentence


def test_several_texts_are_several_targets(atlas):
    targets = resolve_targets(["tensorflow==2.8", "tensorflow==1.4.1"], atlas=atlas)
    assert [target.name for target in targets] == ["tensorflow 2.8.4", "tensorflow 1.4.1"]


def test_an_add_on_adds_to_the_registry(atlas):
    (target,) = resolve_targets("tensorflow==2.8.4 tensorflow-text==2.8.2", atlas=atlas)
    assert "MatMul" in target.registry
    assert "WordpieceTokenizeWithOffsets" in target.registry
    assert target.registry.name == "tensorflow 2.8.4 + tensorflow-text 2.8.2 (cpu)"


def test_serving_of_1_x_has_the_contrib_ops_that_it_links(atlas):
    (target,) = resolve_targets("tensorflow-serving==1.12.3", atlas=atlas)
    assert target.kind == "serving"
    assert "GRUBlockCell" in target.registry
    assert "Resampler" not in target.registry


def test_a_device_without_kernels_is_not_used(atlas):
    (target,) = resolve_targets("tensorflow==1.12.3", device="gpu", atlas=atlas)
    assert (target.device, target.notes) == (
        "cpu",
        ["tensorflow 1.12.3 has no GPU kernels: it runs on the CPU"],
    )
    assert resolve_targets("tensorflow==2.8", device="gpu", atlas=atlas)[0].device == "gpu"
    assert resolve_targets("tensorflow-cpu==2.8", device="gpu", atlas=atlas)[0].device == "cpu"
    assert resolve_targets("tensorflow-gpu==2.8", device="cpu", atlas=atlas)[0].device == "cpu"


def test_an_unknown_device_is_an_error(atlas):
    with pytest.raises(Error, match="unknown device `tpu`; expected cpu or gpu"):
        resolve_targets("tensorflow", device="tpu", atlas=atlas)


def test_a_package_takes_precedence_over_a_folder_of_its_name(atlas, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("tensorflow")
    assert resolve_targets("tensorflow", atlas=atlas)[0].name == "tensorflow 2.20.0"


def test_a_requirements_file_is_read_as_pip_does(atlas, tmp_path):
    file = tmp_path / "requirements.txt"
    file.write_text("numpy<2\ntensorflow==2.8\ntensorflow-text==2.8.2\n")
    (target,) = resolve_targets(str(file), atlas=atlas)
    assert target.name == "tensorflow 2.8.0 + tensorflow-text 2.8.2"


def test_a_range_in_a_file_is_its_newest(atlas, tmp_path):
    file = tmp_path / "requirements.txt"
    file.write_text("tensorflow>=2.4,<2.9\n")
    (target,) = resolve_targets(str(file), atlas=atlas)
    assert (target.name, target.notes) == (
        "tensorflow 2.8.4", ["tensorflow<2.9,>=2.4: 2.8.4 is the newest recorded release"]
    )  # fmt: skip


def test_a_lock_file_with_two_releases_is_two_targets(atlas, tmp_path):
    file = tmp_path / "uv.lock"
    file.write_text(
        "".join(f'[[package]]\nname = "tensorflow"\nversion = "{v}"\n' for v in ("2.4.4", "2.8.4"))
    )
    assert [target.name for target in resolve_targets(str(file), atlas=atlas)] == [
        "tensorflow 2.4.4", "tensorflow 2.8.4"
    ]  # fmt: skip


def test_an_unrecorded_version_of_an_add_on_in_a_file_is_noted(atlas, tmp_path):
    file = tmp_path / "requirements.txt"
    file.write_text("tensorflow==2.8.4\ntensorflow-text>=2.13\n")
    (target,) = resolve_targets(str(file), atlas=atlas)
    note = "no recorded release of tensorflow-text matches >=2.13; recorded: 2.6.0 to 2.12.1"
    assert target.notes == [note]


def test_packages_without_ops_need_no_note():
    """Those that TensorFlow requires, and companions that were looked at."""
    (target,) = resolve_targets("tensorflow==2.8.4 numpy==1.23.5 flatbuffers==23.5 tensorflow-hub==0.12.0")
    assert target.notes == []


def test_serving_may_have_more_add_ons(atlas):
    (target,) = resolve_targets("tensorflow-serving==2.8 acme-ops", atlas=atlas)
    assert target.name == "tensorflow-serving 2.8.4"
    assert target.notes[-1] == "acme-ops is not recorded: its ops are unknown"


def test_the_serving_api_next_to_tensorflow_is_a_client(atlas):
    (target,) = resolve_targets("tensorflow==2.8.4 tensorflow-serving-api==2.8.4", atlas=atlas)
    assert (target.kind, target.notes) == ("tensorflow", [])


def test_a_file_without_tensorflow_is_an_error(atlas, tmp_path):
    file = tmp_path / "requirements.txt"
    file.write_text("numpy\n")
    with pytest.raises(Error) as raised:
        resolve_targets(str(file), atlas=atlas)
    assert str(raised.value) == f"{file}: no TensorFlow found"


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (
            "saved_model.pb",
            b"\x08\x01\x12\x0a\x12\x08\x0a\x06\x0a\x01x\x12\x01y",
            "is a model (SavedModel), not a target",
        ),
        ("x.onnx.txt", b"\x89PNG\r\n\x1a\n\0\0", "a PNG image; expected a package"),
        ("lib.so", b"\x7fELF" + bytes(60), "a library; `tfport targets record`"),
        ("data.bin", b"\x80\x81\0\xff" * 9, "an unknown file format; expected a package"),
        ("notes.txt", b"To whom it may concern\n", "line 1: 'To whom it may concern' is not a requirement"),
        ("x.target", b"nothing", "not a recorded target; `tfport targets record` writes such files"),
    ],
)
def test_a_file_of_another_kind_is_an_error(name, content, sentence, atlas, tmp_path):
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(Error) as raised:
        resolve_targets(str(file), atlas=atlas)
    assert str(file) in str(raised.value)
    assert sentence in str(raised.value)


def test_a_wheel_is_compared_with_the_recorded_one(atlas, tmp_path):
    wheel = tmp_path / "tensorflow-2.8.4-cp38-cp38-manylinux2010_x86_64.whl"
    wheel.write_bytes(b"somebody's own")
    (target,) = resolve_targets(str(wheel), atlas=atlas)
    assert target.name == "tensorflow 2.8.4"
    assert target.notes == [
        f"{wheel.name}: not the official wheel of this name: its SHA-256 differs, so its ops may differ too"
    ]


def test_a_wheel_for_another_python_is_noted(atlas, tmp_path):
    wheel = tmp_path / "tensorflow-2.8.4-cp39-cp39-manylinux2010_x86_64.whl"
    wheel.write_bytes(b"")
    (target,) = resolve_targets(str(wheel), atlas=atlas)
    recorded = "tensorflow-2.8.4-cp38-cp38-manylinux2010_x86_64.whl"
    assert target.notes == [f"{wheel.name}: the recorded wheel {recorded} is used instead"]


def test_the_official_wheel_needs_no_note(tmp_path, monkeypatch):
    build = real_atlas().find("tensorflow", "2.8.4")
    wheel = tmp_path / build.wheel
    wheel.write_bytes(b"")
    monkeypatch.setattr(
        hashlib, "file_digest", lambda *_: type("Digest", (), {"hexdigest": lambda _: build.sha256})()
    )
    (target,) = resolve_targets(str(wheel))
    assert target.notes == []


def test_a_header_reduces_a_release(atlas, tmp_path):
    header = tmp_path / "ops_to_register.h"
    header.write_text('#define SHOULD_REGISTER_OP(op) isequal(op, "MatMul")\n')
    for text in (f"{header}@tensorflow==1.4.1", f"tensorflow==1.4.1 {header}"):
        (target,) = resolve_targets(text, atlas=atlas)
        assert (target.kind, target.name) == ("reduced", "tensorflow 1.4.1, reduced by ops_to_register.h")
        assert set(target.registry) == {"MatMul", "_Arg", "_Retval"}
        assert target.requirement == f"{header}@tensorflow==1.4.1"
        assert target.notes == []


def test_ops_of_a_header_that_the_release_lacks_are_noted(atlas, tmp_path):
    header = tmp_path / "ops_to_register.h"
    header.write_text('#define SHOULD_REGISTER_OP(op) isequal(op, "BatchMatMulV2")\n')
    (target,) = resolve_targets(f"{header}@tensorflow==1.4.1", atlas=atlas)
    assert target.notes == [f"{header}: BatchMatMulV2: not registered in tensorflow 1.4.1"]


def test_a_header_needs_a_base(atlas, tmp_path):
    header = tmp_path / "ops_to_register.h"
    header.write_text("#define SHOULD_REGISTER_OP(op) true\n")
    with pytest.raises(Error) as raised:
        resolve_targets(str(header), atlas=atlas)
    assert str(raised.value) == f"{header}: name the release it applies to: {header}@tensorflow==…"


def test_the_recorded_releases_are_targets():
    targets = resolve_targets("tensorflow>=1.4")
    recorded = {b.version for b in real_atlas().builds() if b.requirement.startswith("tensorflow==")}
    assert {t.build.version for t in targets} == {v for v in recorded if Version(v) >= Version("1.4")}
    assert all(target.notes == [] and "MatMul" in target.registry for target in targets)


WORDS = st.lists(
    st.one_of(
        st.sampled_from(
            ["tensorflow", "==", ">=", "2.8", ",", " ", "\n", "@", ";", ".h", "/", "-", "[", "2.*", "~="]
        ),
        st.text(max_size=5),
    ),
    max_size=8,
)


@given(WORDS)
@example(["tensorflow==", "9" * 5000])
@example(["\ud800"])
def test_any_text_gives_targets_or_an_error(pieces):
    text = re.sub(r"[/~]|\.\.", "", "".join(pieces))  # no folder of this machine
    with suppress(Error):
        assert all(target.name for target in resolve_targets(text))
