"""Freed memory goes back to the system, and the memory of weights' files before an engine copies them."""

import platform

import pytest
from tests.runtime.programs import WatchedEngine, session_of

from tfport.runtime.freed_memory import _trim, return_freed_memory
from tfport.runtime.plan import Plan

GRAPH = """
    x = Placeholder() {dtype=float32, shape=(?, 4)}
    y = MatMul(x, x) {T=float32, transpose_a=true, transpose_b=false}
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_glibc_can_return_memory():
    assert _trim() is not None
    return_freed_memory()


def test_other_libraries_keep_it(monkeypatch):
    monkeypatch.setattr("tfport.runtime.freed_memory._trim", lambda: None)
    return_freed_memory()


def test_files_are_released_before_the_engine_compiles():
    session = session_of(GRAPH)
    order = []

    class Noted(WatchedEngine):
        def compile(self, model, *inputs, **options):
            order.append("compile")
            return super().compile(model, *inputs, **options)

    Plan(session.program(["y:0"], ["x:0"]), Noted(session.engine), release=lambda: order.append("release"))
    assert order == ["release", "compile"]
