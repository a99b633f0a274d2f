"""Freed memory goes back to the system, and the memory of weights' files before an engine copies them."""

import ctypes
import os
import platform
from pathlib import Path

import pytest
from tests.runtime.programs import WatchedEngine, session_of

from tfport.runtime.freed_memory import also_return, return_freed_memory
from tfport.runtime.plan import Plan

GRAPH = """
    x = Placeholder() {dtype=float32, shape=(?, 4)}
    y = MatMul(x, x) {T=float32, transpose_a=true, transpose_b=false}
"""
BLOCK = 2**16


def resident_memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_glibc_returns_freed_memory():
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    blocks = [libc.malloc(BLOCK) for _ in range(1000)]  # too small to have pages of their own
    for block in blocks:
        ctypes.memset(block, 1, BLOCK)
    for block in blocks[:-1]:  # the last one keeps the others from being at the end
        libc.free(block)
    before = resident_memory()
    return_freed_memory()
    assert before - resident_memory() > 900 * BLOCK
    libc.free(blocks[-1])


def test_engines_return_memory_before_the_c_library(monkeypatch):
    order = []
    monkeypatch.setattr("tfport.runtime.freed_memory._OTHERS", [])
    monkeypatch.setattr(
        "tfport.runtime.freed_memory._trim", lambda: lambda kept: order.append(("trim", kept))
    )
    also_return(lambda: order.append("engine"))
    return_freed_memory()
    assert order == ["engine", ("trim", 0)]


def test_other_libraries_keep_it(monkeypatch):
    order = []
    monkeypatch.setattr("tfport.runtime.freed_memory._OTHERS", [lambda: order.append("engine")])
    monkeypatch.setattr("tfport.runtime.freed_memory._trim", lambda: None)
    return_freed_memory()
    assert order == ["engine"]


def test_files_are_released_before_the_engine_compiles():
    session = session_of(GRAPH)
    order = []

    class Noted(WatchedEngine):
        def compile(self, model, *inputs, **options):
            order.append("compile")
            return super().compile(model, *inputs, **options)

    Plan(session.program(["y:0"], ["x:0"]), Noted(session.engine), release=lambda: order.append("release"))
    assert order == ["release", "compile"]
