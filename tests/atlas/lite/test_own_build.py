"""Builds of TensorFlow Lite of one's own: sources of op resolvers, libraries, Android archives."""

import zipfile
from pathlib import Path

import pytest
from tests.check.lite.make_files import FILES

import tfport
from tfport.atlas.lite.own_build import read_lite_build, registry_of_source, registry_of_symbols
from tfport.errors import Error

SOURCE = """
// AddBuiltin(BuiltinOperator_TANH, Register_TANH());
AddBuiltin(BuiltinOperator_ABS, Register_ABS(), /* min_version = */ 1,
           /* max_version = */ 5);
AddBuiltin(BuiltinOperator_RELU, Register_RELU());
resolver->AddBuiltin(::tflite::BuiltinOperator_BROADCAST_TO, ops::builtin::Register_BROADCAST_TO(), 2, 3);
resolver.AddBuiltin(tflite::BuiltinOperator_GELU, Register_GELU(), 2);
AddCustom("Acme", RegisterAcme());
"""
LIBRARY = Path(__file__).parents[2] / "libraries" / "version_not_of_cc" / "op.so"


def test_the_source_of_an_op_resolver():
    registry = registry_of_source(SOURCE, "resolver.cc")
    versions = {op: sorted(known) for op, known in registry.ops.items()}
    assert versions == {"ABS": [1, 2, 3, 4, 5], "RELU": [1], "BROADCAST_TO": [2, 3], "GELU": [2]}
    assert registry.custom_ops == {"Acme"}
    assert registry.is_complete


def test_the_symbols_of_a_library():
    symbols = [
        "_ZN6tflite3ops7builtin16Register_CONV_2DEv",
        "_ZN6tflite3ops7builtin25Register_CONVOLUTION_REFEv",
        "_ZN6tflite3ops6custom29Register_DETECTION_POSTPROCESSEv",
        "TfLiteVersion",
    ]
    registry = registry_of_symbols(symbols, "libtensorflowlite.so")
    assert registry.ops == {"CONV_2D": None}
    assert registry.custom_ops == {"TFLite_Detection_PostProcess"}
    assert not registry.is_complete


CHECKS = [  # file, verdict on the build of SOURCE
    ("relu", "runs"),
    ("gelu", "fails"),
    ("custom", "runs"),
    ("flex", "fails"),
]


@pytest.mark.parametrize(("name", "verdict"), CHECKS)
def test_check_on_a_source(name, verdict, tmp_path):
    source = tmp_path / "resolver.cc"
    source.write_text(SOURCE)
    assert tfport.check(FILES / f"{name}.tflite", on=str(source)).verdict == verdict


def test_a_library_without_symbols_is_unknown(tmp_path):
    library = tmp_path / "libtensorflowlite_jni.so"
    library.write_bytes(LIBRARY.read_bytes())
    archive = tmp_path / "app.aar"
    with zipfile.ZipFile(archive, "w") as written:
        written.write(library, "jni/arm64-v8a/libtensorflowlite_jni.so")
    for build in (library, archive):
        report = tfport.check(FILES / "relu.tflite", on=str(build))
        assert report.verdict == "unknown"
        assert "others may be registered" in report.results[0].target.notes[0]


ERRORS = [
    ("empty.cc", b"int main() {}", "empty.cc: no `AddBuiltin(BuiltinOperator_…)`"),
    ("no.aar", b"not a zip", "not a readable zip file"),
    ("libtflite.so", b"not a library", "libtflite.so"),
]


@pytest.mark.parametrize(("name", "content", "words"), ERRORS)
def test_files_that_are_no_build(name, content, words, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(Error) as raised:
        read_lite_build(str(path))
    assert words in str(raised.value)
