"""Workers run in old Pythons."""

from __future__ import annotations

import ast
import runpy
from types import SimpleNamespace

import pytest

from tfport.fix.certify.other_runner import WORKERS


@pytest.mark.parametrize("worker", ["worker_jobs", "tensorflow_worker"])
def test_a_worker_is_a_file_that_an_old_python_reads(worker):
    """No syntax that came after Python 2.7: what would be an error there, beside the tokens of Python 3."""
    tree = ast.parse((WORKERS / f"{worker}.py").read_text())
    later = (ast.AnnAssign, ast.JoinedStr, ast.NamedExpr, ast.AsyncFunctionDef, ast.Starred, ast.Nonlocal)
    assert not [node for node in ast.walk(tree) if isinstance(node, later)]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    arguments = [arg for f in functions for arg in f.args.args]
    assert all(f.returns is None and not f.args.kwonlyargs for f in functions)
    assert all(arg.annotation is None for arg in arguments)
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.cause]


@pytest.mark.parametrize(
    ("model", "order"),
    [
        (SimpleNamespace(input_names=["image", "extra"]), ["image", "extra"]),
        (SimpleNamespace(inputs=[SimpleNamespace(name=n) for n in ("image:0", "extra")]), ["image", "extra"]),
        (SimpleNamespace(input_names=["input_1", "input_2"]), ["extra", "image"]),
    ],
)  # fmt: skip
def test_inputs_are_fed_in_the_order_of_the_keras_model(monkeypatch, model, order):
    monkeypatch.syspath_prepend(str(WORKERS))
    worker = runpy.run_path(str(WORKERS / "keras_worker.py"))
    assert worker["in_order"]({"extra": "extra:0", "image": "image:0"}, model, "input") == order
