"""Workers run in old Pythons."""

from __future__ import annotations

import ast

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
