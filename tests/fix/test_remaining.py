"""What is left after a rewrite is said with what to do."""

import pytest
from tests.fix.certify.models import frozen
from tests.truth_models import model_folder

import tfport

BEFORE = """
x = Placeholder() {dtype=float32, shape=(2,)}
n = Neg(x) {T=float32}
"""


@pytest.mark.parametrize("end", ["y = AcmeZeroOut(n)", "y = AcmeZeroOut(n, x, n)"])
def test_a_custom_op_at_the_end_of_a_graph_says_what_to_fetch_instead(end):
    result = tfport.fix(frozen(BEFORE + end), target="tensorflow==2.8.4")
    fetched = ("n", "x") if ", x" in end else ("n",)
    fetches = " ".join(f"--fetch {name}" for name in fetched)
    assert result.remaining[0].startswith("TFP102: op `AcmeZeroOut`")
    assert result.remaining[1] == f"or `{fetches}`: the graph up to `y`, without the custom op AcmeZeroOut"
    assert tfport.fix(frozen(BEFORE + end), target="tensorflow==2.8.4", fetches=fetched).ok


MIXED = """
x = Placeholder() {dtype=float32, shape=(2,)}
a = NextAfter(x, x) {T=float32}
b = CumulativeLogsumexp(a, zero) {T=float32, Tidx=int32}
c = AddV2(b, b) {T=float32}
y = BesselI0(c) {T=float32}
zero = Const() {dtype=int32, value=int32()[0]}
"""


def test_every_op_without_a_way_is_named_once_and_rules_for_other_problems_are_not():
    result = tfport.fix(frozen(MIXED), target="tensorflow==1.4.1")
    unregistered = [line for line in result.remaining if line.startswith("TFP101")]
    assert unregistered == [
        f"TFP101: op `{op}` is not registered in tensorflow 1.4.1 (there is no rule for it)"
        for op in ("NextAfter", "CumulativeLogsumexp")
    ]
    text = str(result)
    assert "rules applied" not in text
    assert "nothing was written" in text
    assert " would solve the other problems" in text


def test_the_advised_releases_run_the_model_as_it_is_or_after_a_rewrite_for_them():
    """The model that was rewritten for the target must not be what is advised about."""
    text = MIXED + "z = LookupTableExportV2(t) {Tkeys=string, Tvalues=int64}\n"
    text += 't = HashTableV2() {key_dtype=string, value_dtype=int64, shared_name="t"}'
    for model in (frozen(MIXED), frozen(text)):
        result = tfport.fix(model, target="tensorflow==1.4.1")
        as_it_is = next(line for line in result.remaining if line.startswith("use "))
        for name in as_it_is.removeprefix("use ").partition(",")[0].split(" or "):
            assert tfport.check(model, on=name).verdict == "runs"
        for line in result.remaining:
            if line.startswith("or rewrite it with"):
                release = line.partition("--for ")[2].partition("`")[0]
                assert tfport.fix(model, target=release).ok


def test_a_release_that_needs_a_rewrite_is_not_said_to_run_the_model():
    remaining = tfport.fix(frozen(MIXED), target="tensorflow==1.4.1").remaining
    assert remaining[-2:] == [
        "use tensorflow==2.3.0, the nearest release that runs the model",
        "or rewrite it with `--for tensorflow==1.15.0`: outputs agree, and that release runs it",
    ]


def test_a_lossy_rule_is_named_only_where_it_would_help():
    text = 'x = Placeholder() {dtype=string, shape=(2,)}\ny = StringLower(x) {encoding="utf-8"}'
    remaining = tfport.fix(frozen(text), target="tensorflow==1.4.1").remaining
    assert any("StringLower" in line for line in remaining)
    for line in remaining:
        assert ("--allow-lossy" in line) <= tfport.fix(
            frozen(text), target="tensorflow==1.4.1", allow_lossy=True
        ).attempt.runs


def test_a_reduced_build_names_the_stock_release_and_what_it_lacks():
    build = "tests/truth/reduced/ops_to_register.h@tensorflow==1.4.1"
    report = tfport.check(model_folder("tests/truth/models/hash_table_v2"), on=build)
    advice = [way for finding in report.findings for way in finding.ways_out]
    lacks = "the reduced build lacks HashTableV2, InitializeTableV2, LookupTableFindV2"
    assert f"use stock tensorflow==1.4.1, which runs the model: {lacks}" in advice
