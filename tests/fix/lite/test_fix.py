"""TensorFlow Lite files rewritten for older interpreters: what is written, and what is refused."""

from pathlib import Path

import pytest
from tests.check.lite.make_files import FILES
from tests.frontends.lite.cases import case
from tests.frontends.lite.test_constants import external_file
from tests.runtime.cases import numbers

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.errors import Error
from tfport.fix.fix_to import fix_to
from tfport.fix.options import FixOptions

EXAMPLE = Path(__file__).parents[3] / "examples" / "wake_word.tflite"
OLD = "tflite-runtime==2.7.0"


def fixed_to(source, output, target=OLD):
    (chosen,) = resolve_targets(target)
    return fix_to(tfport.load(source), chosen, str(output), FixOptions())


def test_a_file_for_an_older_interpreter_is_written_with_a_certificate(tmp_path):
    output = tmp_path / "old.tflite"
    fixed = fixed_to(str(EXAMPLE), output)
    fixed.save(output)
    assert tfport.check(str(output), on=OLD).verdict == "runs"
    assert tfport.check(str(EXAMPLE), on=OLD).verdict == "fails"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "old.tflite",
        "old.tflite.certificate.html",
        "old.tflite.certificate.json",
    ]
    assert fixed.certificate.to_json()["keeps"] == "rounding"
    assert "min_runtime_version" not in dict(tfport.load(str(output)).lite.metadata)


def test_what_remains_is_listed_and_nothing_is_written(tmp_path):
    fixed = fixed_to(case("ATAN2", numbers(2, 3), numbers(2, 3)).model, tmp_path / "old.tflite")
    assert fixed.verdict == "remains"
    assert any("ATAN2 version 1" in reason for reason in fixed.remaining)
    with pytest.raises(Error, match="not written"):
        fixed.save(tmp_path / "old.tflite")
    assert not list(tmp_path.iterdir())


def test_the_output_must_be_a_lite_file(tmp_path):
    with pytest.raises(Error, match=r"written again as \.tflite"):
        fixed_to(str(EXAMPLE), tmp_path / "old.pb")


@pytest.mark.parametrize(
    ("name", "target", "rule"),
    [
        ("wrong_axis", "ai-edge-litert==2.3.0", "axis of scales"),
        ("outside", "tflite-runtime==2.13.0", "constants inside"),
    ],
)
def test_what_interpreters_refuse_in_a_file_is_corrected(name, target, rule, tmp_path):
    source, output = FILES / f"{name}.tflite", tmp_path / "new.tflite"
    fixed = fixed_to(str(source), output, target)
    fixed.save(output)
    assert [entry.name for entry in fixed.attempt.journal.entries] == [rule]
    assert tfport.check(str(source), on=target).verdict == "fails"
    assert tfport.check(str(output), on=target).verdict == "runs"


def test_constants_in_other_files_move_inside(tmp_path):
    source, output = external_file(tmp_path), tmp_path / "new.tflite"
    (finding,) = tfport.check(source, on="ai-edge-litert==2.3.0").findings
    assert (finding.code, finding.place) == ("TFP810", "in other files")
    fixed_to(source, output, "ai-edge-litert==2.3.0").save(output)
    assert tfport.check(str(output), on="ai-edge-litert==2.3.0").verdict == "runs"
    assert tfport.load(str(output)).lite.external_buffers == ()
