"""The nearest releases are found without a whole check of every release between."""

from pathlib import Path

import pytest
from tests.fix.certify.models import frozen

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.check.check import RUNS, check_on, runs_on
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import CHECKS
from tfport.check.loaders import LOADERS

ATTENTION = str(Path(__file__).parents[2] / "examples/attention")
RELEASES = ["1.4.1", "1.13.2", "1.15.5", "2.3.4", "2.8.4", "2.21.0"]


@pytest.mark.parametrize("release", RELEASES)
def test_it_runs_where_a_whole_check_says_so(release):
    model = CheckedModel(tfport.load(ATTENTION))
    (target,) = resolve_targets(f"tensorflow=={release}")
    for loader in LOADERS:
        (result,) = check_on(model, target, (loader,))
        assert runs_on(model, target, loader) == (result.verdict == RUNS), loader


def test_a_release_is_checked_up_to_its_first_error(monkeypatch):
    asked = []
    names = CHECKS.names
    monkeypatch.setattr(CHECKS, "names", lambda: (asked.append(name) or name for name in names()))
    model = CheckedModel(tfport.load(ATTENTION))
    (fails,), (runs,) = resolve_targets("tensorflow==1.13.2"), resolve_targets("tensorflow==2.21.0")
    assert runs_on(model, runs, "python")
    assert len(asked) == len(names())
    asked.clear()
    assert not runs_on(model, fails, "capi")
    assert len(asked) < len(names())


GROWS = """
zero = Const() {dtype=int32, value=int32()[0]}
x = Placeholder() {dtype=float32, shape=(2,)}
empty = TensorListReserve(zero, zero) {element_dtype=float32, shape_type=int32}
set = TensorListSetItem(empty, zero, x) {element_dtype=float32, resize_if_index_out_of_bounds=true}
y = TensorListGetItem(set, zero, zero) {element_dtype=float32}
"""


def test_a_release_that_ignores_an_attribute_is_not_named():
    """TensorFlow 2.10 loads such a model; then the list does not grow, and the run fails (TFP213)."""
    model = frozen(GROWS)
    (finding, *_) = tfport.check(model, on="tensorflow==2.3.4").results[0].findings
    assert finding.ways_out[0] == "use tensorflow==2.13.0, the nearest release that runs the model"
    subject, (ignores,) = CheckedModel(model), resolve_targets("tensorflow==2.8.4")
    assert not runs_on(subject, ignores, "python")
