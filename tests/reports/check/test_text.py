from pathlib import Path

import pytest
from tests.reports.check.reports import custom, fails, report, runs, target, unknown, unregistered

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.check.check_report import check_model
from tfport.reports.check.phrases import shortened_message
from tfport.reports.check.text import report_text
from tfport.reports.console import plain

ROOT = Path(__file__).parents[3]

ATTENTION = """
examples/attention  TensorFlow 2.21.0, GraphDef 2474
  tensorflow 1.13.2  fails at load  python, serving  TFP101
  tensorflow 1.14.0  runs           python, serving

error[TFP101]: op `BatchMatMulV2` is not registered in tensorflow 1.13.2
  --> serving_default: MatMul = BatchMatMulV2(GatherV2, query/read) {T=float32}
      5 nodes: MatMul, MatMul_1, MatMul_2, MatMul_4, …
  cause: registered since 1.14.0; only BatchMatMul in tensorflow 1.13.2
  says:  Op type not registered 'BatchMatMulV2' in binary running on HOST. …
  fix:   use tensorflow==1.14.0, the nearest release that runs the model
  fix:   `tfport fix MODEL --for tensorflow==1.13.2 -o OUT` tries to rewrite it"""


def test_a_model_that_runs_on_one_release_and_not_on_another(monkeypatch):
    monkeypatch.chdir(ROOT)
    targets = resolve_targets(["tensorflow==1.13.2", "tensorflow==1.14.0"])
    assert str(check_model(tfport.load("examples/attention"), targets)) == ATTENTION


def text(made, **options) -> str:
    return plain(lambda width: report_text(made, width, **options))


def test_a_model_that_runs_is_one_line():
    assert text(report(runs(target("2.8.4")))).splitlines()[1:] == [
        "export/1  TensorFlow 2.21.0, GraphDef 2474",
        "  tensorflow 2.8.4  runs  python, serving",
    ]


def test_loaders_that_differ_have_a_column_each():
    on = target("2.8.4")
    finding = unregistered(on)
    made = report(fails(on, finding, loaders=("python",)), runs(on, loaders=("serving",)))
    assert text(made).splitlines()[2:4] == [
        "                    python         serving",
        "  tensorflow 2.8.4  fails at load  runs     TFP101",
    ]


def test_a_range_has_a_line_for_releases_with_one_verdict_and_each_finding_once():
    on = resolve_targets("tensorflow>=1.9,<1.16")
    old = [t for t in on if t.build.facts["graph_def"]["producer"] < 38]
    made = report(*(fails(t, unregistered(t)) if t in old else runs(t) for t in on))
    lines = text(made).splitlines()
    assert [
        line.partition("  ")[0] for line in map(str.strip, lines) if line.startswith("tensorflow 1.")
    ] == [
        "tensorflow 1.9.0 to 1.13.2",
        "tensorflow 1.14.0 to 1.15.5",
    ]
    assert [line for line in lines if line.startswith("error[")] == [
        "error[TFP101]: op `BatchMatMulV2` is not registered in tensorflow 1.9.0 to"
    ]


def test_notes_are_short_and_last():
    on = target("1.13.2")
    made = report(fails(on, unregistered(on), unregistered(on, "Lost", stage=None)))
    assert text(made).splitlines()[-2:] == [
        "notes  the requested signatures do not need these",
        "  note[TFP101]: op `Lost` is not registered in tensorflow 1.13.2 (2 nodes)",
    ]


def test_an_undecided_finding_is_unknown():
    on = target("2.8.4")
    output = text(report(unknown(on, custom(on))))
    assert "tensorflow 2.8.4  unknown  python, serving  TFP102" in output
    assert "fix:   name its library with --library FILE" in output


def test_a_doubt_is_shown_and_separates_findings():
    old, new = target("1.12.3"), target("1.13.2")
    doubtful = unregistered(old)
    doubtful.doubt = "it may be linked in"
    output = text(report(unknown(old, doubtful), fails(new, unregistered(new))))
    assert output.count("error[TFP101]") == 2
    assert "\n  doubt: it may be linked in\n" in output


def test_stopped_signatures_are_named_if_others_run():
    on = target("2.8.4")
    output = text(report(fails(on, unregistered(on, stage="run")), signatures=("serving_default", "train")))
    assert "fails at run  python, serving  TFP101 in serving_default" in output


def test_the_gpu_is_shown():
    assert "tensorflow 2.8.4 (gpu)  runs" in text(report(runs(target("2.8.4", device="gpu"))))


@pytest.mark.parametrize("everything", [False, True])
def test_no_line_is_wider_than_the_page(everything):
    on = target("1.13.2")
    made = report(fails(on, unregistered(on, "L" * 200)), model="m" * 200)
    assert max(map(len, text(made, everything=everything).splitlines())) <= 80


def test_everything_shows_the_full_text():
    on = target("1.13.2")
    made = report(fails(on, unregistered(on)))
    assert "first accessed." not in text(made)
    assert text(made, everything=True).endswith("first accessed.")


def test_control_characters_in_names_are_escaped():
    on = target("1.13.2")
    assert "\x1b" not in text(report(fails(on, unregistered(on, "\x1b[2J")), model="\x1b[2J"))


SHORTENED = [  # whole                                      shown
    ("Not registered 'A' on HOST. Make sure", "Not registered 'A' on HOST. …"),
    ("No attr 'a' in Op<name=B; signature=x:T -> y:T>", "No attr 'a' in Op<name=B …"),
    ("Value is not allowed\n\t; NodeDef: y", "Value is not allowed …"),
    ("Function f is not defined.", "Function f is not defined."),
]


@pytest.mark.parametrize(("whole", "shown"), SHORTENED)
def test_the_first_part_of_the_message_is_shown(whole, shown):
    assert shortened_message(whole) == shown
