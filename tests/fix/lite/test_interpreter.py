"""A Python with an interpreter as a runner: what it says if that Python has no interpreter."""

import sys

import pytest
from tests.frontends.lite.cases import case
from tests.recorded_models import path_of
from tests.runtime.cases import numbers

import tfport
from tfport.fix.certify.runners import ModelSide
from tfport.fix.certify.verify import verify
from tfport.fix.lite.interpreter import LiteInterpreter

EMPTY = 'import sys; sys.modules.update(dict.fromkeys(("ai_edge_litert", "tflite_runtime", "tensorflow")))'


def test_a_python_without_an_interpreter_is_named(tmp_path):
    python = tmp_path / "python"
    program = (
        f"{EMPTY}; import os, runpy; sys.argv = sys.argv[1:]; "
        "sys.path.insert(0, os.path.dirname(sys.argv[0])); "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    python.write_text(f"""#!/bin/sh\nexec {sys.executable} -c "{program.replace('"', chr(39))}" "$@"\n""")
    python.chmod(0o755)
    model = tfport.load(case("NEG", numbers(2, 3)).model)
    verification = verify(model, model, live=False, targets=[LiteInterpreter(str(python))])
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
