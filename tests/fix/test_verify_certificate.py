"""Certificates are verified again: the models, the inputs, the comparison."""

from __future__ import annotations

import json
import shutil
import sys

import numpy as np
import pytest
from tests.fix.certify.models import frozen, saved
from tests.recorded_models import path_of

import tfport
from tfport.cli.main import main
from tfport.errors import Error
from tfport.graph.build import graph_to_def

X = "x = Placeholder() {dtype=float32, shape=(?, 3)}\n"
TWICE = X + "y = AddV2(x, x) {T=float32}"


@pytest.fixture(autouse=True)
def without_tensorflow(monkeypatch):
    monkeypatch.setattr("tfport.fix.certify.verify.live_tensorflow", lambda: None)


@pytest.fixture
def certificate(tmp_path):
    """A certificate of a rewritten SavedModel."""
    saved(tmp_path / "m", TWICE, {"x": "x:0"}, {"y": "y:0"})
    tfport.fix(tmp_path / "m", target="tensorflow==1.4.1").save(tmp_path / "out")
    return tmp_path / "out.certificate.json"


def edited(path, **changes):
    document = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: value for key, value in document.items() if value is not None}))
    return path


def test_a_certificate_is_verified(certificate):
    check = tfport.verify_certificate(certificate)
    assert (check.verdict, check.ok, check.exit_code, check.notes) == ("verified", True, 0, [])
    assert "outputs agree on 14 inputs" in check.statement
    assert "verified" in str(check)
    report = json.loads(json.dumps(check.to_json(), allow_nan=False))
    assert (report["version"], report["verdict"]) == (1, "verified")
    assert report["comparison"]["comparisons"][0]["verdict"] == "alike"


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("m/saved_model.pb", "the original"),
        ("out/saved_model.pb", "the rewritten model"),
        ("out/new", "(new)"),
    ],
)
def test_a_model_that_changed_is_named_with_its_files(certificate, file, words):
    with open(certificate.parent / file, "ab") as changed:
        changed.write(b"\0")
    check = tfport.verify_certificate(certificate)
    assert (check.verdict, check.exit_code) == ("changed", 1)
    assert words in check.statement
    assert file.split("/")[1] in check.statement


def test_models_may_be_elsewhere(certificate, tmp_path):
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("out", certificate.name):
        shutil.move(tmp_path / name, moved / name)
    assert tfport.verify_certificate(moved / certificate.name).ok  # beside the certificate
    shutil.move(tmp_path / "m", tmp_path / "n")
    with pytest.raises(Error, match=r"the original .*m is not there; name it: tfport fix MODEL --verify"):
        tfport.verify_certificate(moved / certificate.name)
    assert tfport.verify_certificate(moved / certificate.name, model=tmp_path / "n").ok


def test_outputs_that_differ_are_seen(certificate):
    """A certificate cannot be made true by writing the digests of other models into it."""
    folder = certificate.parent
    shutil.rmtree(folder / "out")
    saved(folder / "out", TWICE.replace("AddV2", "Mul"), {"x": "x:0"}, {"y": "y:0"})
    report = json.loads(certificate.read_text())
    edited(certificate, output={"path": report["output"]["path"], "sha256": ""})
    check = tfport.verify_certificate(certificate)
    assert (check.verdict, check.exit_code) == ("differs", 1)
    assert "outputs differ: y of serving_default" in check.statement


def test_the_certificate_of_an_older_version(certificate):
    report = json.loads(certificate.read_text())
    trials = [{k: v for k, v in trial.items() if k not in ("seed", "inputs")} for trial in report["trials"]]
    models = {k: {"path": report[k]["path"], "sha256": report[k]["sha256"]} for k in ("input", "output")}
    edited(certificate, trials=trials, settings=None, made=None, runners=None, target_runs=None, **models)
    check = tfport.verify_certificate(certificate)
    assert check.ok
    assert "does not have the digests of its inputs" in check.notes[0]
    (certificate.parent / "m/new").write_text("")
    assert tfport.verify_certificate(certificate).verdict == "changed"


def test_inputs_that_this_version_makes_differently_are_a_note(certificate):
    report = json.loads(certificate.read_text())
    report["trials"][3]["inputs"][0]["sha256"] = "0" * 64
    check = tfport.verify_certificate(edited(certificate, trials=report["trials"]))
    assert check.ok
    assert "13 of 14 inputs are those of the certificate" in check.notes[0]


def test_a_graph_without_signatures(tmp_path):
    path = tmp_path / "m.pb"
    path.write_bytes(graph_to_def(frozen(TWICE).graph).SerializeToString())
    tfport.fix(path, target="tensorflow==1.4.1").save(tmp_path / "out.pb")
    certificate = tmp_path / "out.pb.certificate.json"
    assert tfport.verify_certificate(certificate).ok
    assert tfport.verify_certificate(edited(certificate, settings=None)).ok


def test_a_graph_that_was_exported_as_a_saved_model(tmp_path, capsys):
    path = tmp_path / "m.pb"
    path.write_bytes(graph_to_def(frozen(TWICE).graph).SerializeToString())
    assert main(["export", str(path), "--for", "tensorflow==1.4.1", "-o", str(tmp_path / "out")]) == 0
    assert main(["fix", "--verify", str(tmp_path / "out.certificate.json")]) == 0
    capsys.readouterr()


def test_inputs_of_the_user_are_read_again(tmp_path, capsys):
    inputs = tmp_path / "inputs.npz"
    np.savez(inputs, x=np.float32([[1, 2, 3]]))
    saved(tmp_path / "m", TWICE, {"x": "x:0"}, {"y": "y:0"})
    rest = ["--for", "tensorflow==1.4.1", "-o", str(tmp_path / "out"), "--inputs", str(inputs)]
    assert main(["fix", str(tmp_path / "m"), *rest]) == 0
    verify = ["fix", "--verify", str(tmp_path / "out.certificate.json")]
    assert main(verify) == 0
    assert main([*verify, "--json"]) == 0
    with pytest.raises(Error, match="pass these inputs"):
        tfport.verify_certificate(tmp_path / "out.certificate.json")
    np.savez(inputs, x=np.float32([[1, 2, 4]]))
    capsys.readouterr()
    assert main(verify) == 2
    assert "the inputs are not those of the certificate" in capsys.readouterr().err
    inputs.unlink()
    assert main(verify) == 2
    assert "inputs.npz: no such file; --inputs FILE says where" in capsys.readouterr().err


def test_a_target_that_was_run_is_run_again_only_if_asked(certificate):
    edited(certificate, target_runs={"ran": True})
    assert "--prove repeats them" in tfport.verify_certificate(certificate).notes[0]
    check = tfport.verify_certificate(certificate, pythons=[sys.executable])
    if check.verdict == "differs":  # this Python has no TensorFlow
        assert "No module named 'tensorflow'" in check.statement
    assert check.notes == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[]", "expected OUT.certificate.json"),
        ('{"version": 1}', "expected OUT.certificate.json"),
        ('{"version": 2, "comparisons": []}', "this tfport reads version 1"),
        ('{"version": 1, "comparisons": [], "signatures": 7}', "`signatures`: expected a list, found int"),
        (
            '{"version": 1, "comparisons": [], "signatures": ["a", 1]}',
            "`signatures[1]`: expected a string, found int",
        ),
        (
            '{"version": 1, "comparisons": [], "signatures": []}',
            "not a certificate of `tfport fix`: no `input`",
        ),
        (
            '{"version": 1, "comparisons": [], "signatures": [], "made": 1}',
            "`made`: expected an object, found int",
        ),
        (
            '{"version": 1, "comparisons": [], "signatures": [], "input": {}, "output": {}, "trials": []}',
            "no `tfport`",
        ),
        ("[" * 100_000, "not a certificate"),
    ],
)
def test_what_is_no_certificate_is_one_sentence(tmp_path, capsys, text, words):
    path = tmp_path / "c.json"
    path.write_text(text)
    assert main(["fix", "--verify", str(path)]) == 2
    printed = capsys.readouterr().err
    assert words in printed
    assert len(printed.strip().splitlines()) == 1


def test_a_certificate_that_is_cut_off_anywhere_is_one_sentence(certificate, capsys):
    whole = certificate.read_text()
    for place in range(0, len(whole) - 2, len(whole) // 20):
        certificate.write_text(whole[:place])
        assert main(["fix", "--verify", str(certificate)]) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_options_of_a_rewrite_do_not_go_with_a_certificate(certificate, capsys):
    assert main(["fix", "--verify", str(certificate), "--for", "tensorflow==1.12.0", "--rtol", "0.1"]) == 2
    assert "the comparison of the certificate: leave out --for, --rtol" in capsys.readouterr().err


def test_fix_without_a_certificate_needs_a_model(capsys):
    assert main(["fix", path_of("counter")]) == 2
    assert "expected --for TARGET, -o OUT" in capsys.readouterr().err
