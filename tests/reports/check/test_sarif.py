import json
import re

from tests.reports.check.reports import custom, fails, report, runs, target, unknown, unregistered

from tfport.check.findings.finding import model_findings
from tfport.reports.check import sarif as report_sarif


def log(*parts):
    return json.loads(report_sarif.whole(list(parts), model_findings()))


def test_every_code_is_a_rule_with_help():
    (run,) = log()["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(model_findings())
    for rule in rules:
        assert re.fullmatch(r"[A-Z][A-Za-z0-9]+", rule["name"])
        assert rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")


def test_a_finding_is_a_result_with_its_rule_and_place(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    model = tmp_path / "models" / "a b"
    model.mkdir(parents=True)
    (model / "saved_model.pb").touch()
    monkeypatch.chdir(tmp_path / "models")
    on = target("1.13.2")
    (run,) = log(report_sarif.check_part(report(fails(on, unregistered(on)), model="a b")))["runs"]
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "TFP101"
    assert result["level"] == "error"
    assert result["message"]["text"].startswith("op `BatchMatMulV2` is not registered in tensorflow 1.13.2. ")
    (place,) = result["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "models/a%20b/saved_model.pb"
    assert [node["name"] for node in place["logicalLocations"]] == ["y", "y_1"]
    assert result["properties"]["target"] == "tensorflow==1.13.2"


def test_a_finding_has_the_same_fingerprint_in_every_run():
    on = target("1.13.2")
    made = [report_sarif.check_part(report(fails(on, unregistered(on, op)))) for op in ("A", "A", "B")]
    first, again, other = (part["results"][0]["partialFingerprints"] for part in made)
    assert first == again != other


def test_an_undecided_finding_is_a_warning_and_an_unneeded_one_a_note():
    on = target("1.13.2")
    made = report(unknown(on, custom(on), unregistered(on, stage=None)))
    assert [result["level"] for result in report_sarif.check_part(made)["results"]] == ["warning", "note"]


def test_a_model_that_cannot_be_read_is_a_notification():
    part = report_sarif.check_part(report(runs(target("2.8.4"))))
    (run,) = log(part, report_sarif.unreadable("x", "x: empty"))["runs"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert [note["message"]["text"] for note in invocation["toolExecutionNotifications"]] == ["x: empty"]
