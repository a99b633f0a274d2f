"""`tfport export`: the file, the summary, and unsupported models."""

import json
import re
import shutil

import pytest
from tests.recorded_models import path_of

import tfport
from tfport.cli.main import main
from tfport.graph.save import save_model


def test_export_reports_what_it_wrote(capsys, tmp_path):
    model, path = path_of("keras_sequential"), tmp_path / "m.onnx"
    assert main(["export", model, "-o", str(path)]) == 0
    assert re.fullmatch(rf"{path}: \d+ nodes, validated\n", capsys.readouterr().out)
    assert main(["export", model, "-o", str(tmp_path / "n.onnx"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["version"], len(document["inputs"]), document["outputs"]) == (1, 1, ["output_0"])


def test_export_names_unsupported_inputs(capsys, tmp_path):
    assert main(["export", path_of("sparse"), "-o", str(tmp_path / "m.onnx")]) == 2
    assert "`scaled` is sparse float32, which ONNX does not support" in capsys.readouterr().err
    assert main(["export", path_of("strings"), "-o", str(tmp_path / "m.onnx")]) == 2
    assert "`StringLength` (StringLength): ONNX has no such op" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_triton(tmp_path, capsys):
    out = str(tmp_path / "repository")
    assert main(["export", path_of("half_plus_two"), "--format", "triton", "-o", out]) == 0
    assert (
        capsys.readouterr().out == f"{out}: model half_plus_two, backend onnxruntime, batches of up to 32\n"
    )
    assert main(["export", "examples/attention", "--format", "triton", "-o", out, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["kind"], report["backend"], report["name"]) == ("triton", "python", "attention")
    assert sorted(path.name for path in (tmp_path / "repository").iterdir()) == ["attention", "half_plus_two"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "saved", "--layout", "torch"], "saved: --layout is for weights, not for a SavedModel"),
        (["-o", "m.pb", "--tolerance", "0"],
         "m.pb: --tolerance is for FILE.tflite, FILE.onnx, --format tfjs and --format tfjs-layers, not for "
         "FILE.pb"),
        (["-o", "m.onnx", "--allow-flex"], "m.onnx: --allow-flex is for FILE.tflite, not for FILE.onnx"),
        (["-o", "m.onnx", "--split"], "m.onnx: --split writes a folder, without --format and --for"),
        (["-o", "m.tflite", "--calibrate", "x.npz"], "--calibrate is for --weights full-int8"),
        (["-o", "m.pb", "--quantize", "uint8"],
         "m.pb: --quantize is for --format tfjs and --format tfjs-layers, not for FILE.pb"),
        (["-o", "web", "--format", "tfjs", "--weights", "int8"],
         "web: --weights is for FILE.tflite and FILE.onnx, not for --format tfjs"),
    ],
)  # fmt: skip
def test_options_of_another_format(capsys, arguments, message):
    assert main(["export", path_of("half_plus_two"), *arguments]) == 2
    assert capsys.readouterr().err == f"tfport: {message}\n"


def test_the_certificate_of_an_export_advises_a_command_that_runs_the_target(capsys, tmp_path):
    out = str(tmp_path / "saved")
    assert (
        main(["export", path_of("half_plus_two"), "-o", f"{out}/", "--for", "tensorflow==2.8.4", "--json"])
        == 0
    )
    statement = json.loads(capsys.readouterr().out)["certificate"]["target_runs"]["statement"]
    assert f"`tfport fix --verify {out}.certificate.json --prove` runs it" in statement


def test_a_loss_that_is_refused_names_the_option_of_export(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("tfport.fix.lite.smaller_weights.LEAST", 4)
    out = tmp_path / "m.tflite"
    arguments = ["--weights", "int8", "--tolerance", "1e-9"]
    assert main(["export", path_of("keras_sequential"), "-o", str(out), *arguments]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "`tfport export --tolerance X` allows larger differences" in text
    assert list(tmp_path.iterdir()) == []


EVERY_FORMAT = (
    ["m.onnx"], ["parts", "--split"], ["m.tflite"], ["m", "--format", "tfjs"], ["m", "--format", "triton"],
    ["m"], ["m", "--for", "tensorflow==2.4.0"], ["m.pb"], ["m.npz"], ["m.safetensors"], ["m.weights.h5"],
)  # fmt: skip


@pytest.mark.parametrize("end", ["index", "data-00000-of-00001"])
@pytest.mark.parametrize("options", EVERY_FORMAT, ids=" ".join)
def test_a_missing_file_of_the_checkpoint_is_named_and_nothing_is_written(options, end, capsys, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(path_of("keras_sequential"), model)
    lost = {"index": "variables.*", "data-00000-of-00001": "variables.data*"}[end]
    for file in (model / "variables").glob(lost):
        file.unlink()
    out = tmp_path / "out"
    out.mkdir()
    assert main(["export", str(model), "-o", str(out / options[0]), *options[1:]]) == 2
    file = model / "variables" / f"variables.{end}"
    assert capsys.readouterr().err == f"tfport: {file}: missing; it contains variables\n"
    assert list(out.iterdir()) == []


def test_a_rewritten_model_without_its_weights_is_not_written(tmp_path):
    shutil.copytree(path_of("keras_sequential"), tmp_path / "model")
    (shard,) = (tmp_path / "model" / "variables").glob("variables.data*")
    shard.unlink()
    with pytest.raises(tfport.UnreadableFile, match=f"{shard.name}: missing; it contains variables"):
        save_model(tfport.load(str(tmp_path / "model")), tmp_path / "written")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
