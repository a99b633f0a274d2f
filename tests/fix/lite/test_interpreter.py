"""A Python with an interpreter as a runner: what it says if that Python has no interpreter."""

import sys

import pytest
from tests.frontends.lite.cases import case
from tests.recorded_models import path_of
from tests.runtime.cases import numbers

import tfport
from tfport.fix.certify.runners import ModelSide
from tfport.fix.certify.trials import Trial
from tfport.fix.certify.verify import verify
from tfport.fix.lite.interpreter import LiteInterpreter

EMPTY = 'import sys; sys.modules.update(dict.fromkeys(("ai_edge_litert", "tflite_runtime", "tensorflow")))'


@pytest.fixture
def empty_python(tmp_path):
    """A Python without an interpreter."""
    python = tmp_path / "python"
    program = (
        f"{EMPTY}; import os, runpy; sys.argv = sys.argv[1:]; "
        "sys.path.insert(0, os.path.dirname(sys.argv[0])); "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    python.write_text(f"""#!/bin/sh\nexec {sys.executable} -c "{program.replace('"', chr(39))}" "$@"\n""")
    python.chmod(0o755)
    return str(python)


def test_a_python_without_an_interpreter_is_named(empty_python):
    model = tfport.load(case("NEG", numbers(2, 3)).model)
    verification = verify(model, model, live=False, targets=[LiteInterpreter(empty_python)])
    assert verification.verdict == "differs"
    assert "no ai_edge_litert, tflite_runtime or tensorflow in this Python" in verification.statement


def test_an_original_of_another_format_is_said_to_be_one(tmp_path):
    pytest.importorskip("ai_edge_litert")
    lite = tfport.load(case("NEG", numbers(2, 3)).model)
    saved = tfport.load(path_of("half_plus_two"))
    side = ModelSide(saved, saved.signatures)
    (result,) = LiteInterpreter(sys.executable).ask([side], [])
    assert "it is no TensorFlow Lite file" in result.why
    (result,) = LiteInterpreter(sys.executable).ask([ModelSide(lite, lite.signatures)], [])
    assert not result.why


def runners(model, **runner):
    verification = verify(model, model, live=False, targets=[LiteInterpreter(**runner)])
    return [(c.runner.split()[0], c.answered > 0) for c in verification.comparisons]


def test_tfport_need_not_run_a_file_that_the_interpreter_of_the_target_runs():
    pytest.importorskip("ai_edge_litert")
    model = tfport.load(case("NEG", numbers(2, 3)).model)
    litert, own = ("ai-edge-litert", True), ("tfport", True)
    assert runners(model, python=sys.executable, is_target=True) == [litert]
    assert runners(model, python=sys.executable) == [own, litert]


def test_tfport_runs_a_file_that_the_interpreter_of_the_target_does_not_run(empty_python):
    model = tfport.load(case("NEG", numbers(2, 3)).model)
    (_, is_answered), own = runners(model, python=empty_python, is_target=True)
    assert not is_answered
    assert own == ("tfport", True)


def test_trials_of_the_same_sizes_run_together_unless_there_are_variables():
    runner = LiteInterpreter(sys.executable)
    rows = (1, 2, 1, 2)
    trials = [Trial("s", "", "given", {"x": numbers(count, 3), "parts": (numbers(count),)}) for count in rows]
    assert runner.order({"has_state": False}, trials) == [0, 2, 1, 3]
    assert list(runner.order({"has_state": True}, trials)) == [0, 1, 2, 3]
