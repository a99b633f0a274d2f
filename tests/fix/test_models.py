"""Models written by TensorFlow, rewritten for older releases and loaded again."""

import pytest
from tests.recorded_models import PROGRAMS, load

import tfport
from tfport.graph.op_facts.kinds import FUNCTIONAL

TARGETS = ("1.4.1", "1.15.5", "2.3.4")
REMAINS = {
    "constants": TARGETS,  # float8 and int4, which these releases do not know
    "datasets": ("1.4.1",),  # iterators
    "input_pipeline": ("1.4.1",),
    "loops_v2": ("1.4.1",),  # gradients of loops in loops, on stacks
    "random_numbers": TARGETS,  # generators: other numbers would be drawn
    "strings": ("1.4.1",),  # a general regular expression, StringFormat
    "tables_in_memory": ("1.4.1",),  # a dense table of types without kernels
}
NOT_COMPARED = {
    "defun": TARGETS,  # SymbolicGradient, which tfport does not run
}
FIXED = [
    (name, release)
    for name in PROGRAMS
    for release in TARGETS
    if release not in (*REMAINS.get(name, ()), *NOT_COMPARED.get(name, ()))
]


def fixed(name, release):
    return tfport.fix(load(name), target=f"tensorflow=={release}")


@pytest.mark.parametrize(("name", "release"), FIXED)
def test_the_target_supports_it_and_outputs_are_equal(name, release, tmp_path):
    result = fixed(name, release)
    assert result.ok, result.remaining or result.verification.statement
    before, path = load(name), tmp_path / "out"
    result.save(path)
    written = tfport.load(f"{path}.meta" if before.format.name == "MetaGraph" else path)
    assert tfport.check(written, on=f"tensorflow=={release}").verdict == "runs"
    assert set(written.signatures) == set(before.signatures)
    for key, signature in before.signatures.items():
        for side in ("inputs", "outputs"):
            ours, theirs = (getattr(spec, side) for spec in (written.signatures[key], signature))
            assert {k: (s.dtype, s.shape) for k, s in ours.items()} == {
                k: (s.dtype, s.shape) for k, s in theirs.items()
            }
    if release == "1.4.1":
        assert not any(node.op in FUNCTIONAL for node in written.graph)


@pytest.mark.parametrize(("name", "release"), [(n, r) for n, releases in REMAINS.items() for r in releases])
def test_remaining_problems_are_reported_and_prevent_saving(name, release, tmp_path):
    result = fixed(name, release)
    assert (result.ok, result.verdict) == (False, "remains")
    assert result.remaining
    with pytest.raises(tfport.Error, match="not written for"):
        result.save(tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "release"), [(n, r) for n, rs in NOT_COMPARED.items() for r in rs])
def test_a_model_without_comparison_is_not_called_fixed(name, release):
    result = fixed(name, release)
    assert (result.ok, result.verdict) == (False, "not compared")


def test_the_target_has_the_name_that_it_has_in_check():
    fixed = tfport.fix("tests/models/half_plus_two", on="tensorflow==2.8.4")
    assert fixed.ok
    assert fixed.target.requirement == "tensorflow==2.8.4"


@pytest.mark.parametrize("named", [{}, {"on": "tensorflow==2.8.4", "target": "tensorflow==2.8.4"}])
def test_one_target_is_named(named):
    with pytest.raises(tfport.Error, match="expected one target"):
        tfport.fix("tests/models/half_plus_two", **named)
