"""Freed memory goes back to the system, and the memory of weights' files before an engine copies them."""

import ctypes
import os
import platform
import subprocess
import sys
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


HEAPS = """
import ctypes, os, sys, threading
from tfport.runtime.freed_memory import use_few_heaps

if sys.argv[1] == "few":
    use_few_heaps()
libc, count = ctypes.CDLL(None), 4 * len(os.sched_getaffinity(0)) + 4
libc.malloc.restype = libc.fdopen.restype = ctypes.c_void_p
together = threading.Barrier(count)

def take():
    libc.malloc(1000)
    together.wait()  # so that all threads are there

threads = [threading.Thread(target=take) for _ in range(count)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
file = libc.fdopen(1, b"w")
libc.malloc_info(0, ctypes.c_void_p(file))
libc.fflush(ctypes.c_void_p(file))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_threads_share_few_heaps():
    few, many = (
        subprocess.check_output([sys.executable, "-c", HEAPS, way], timeout=60).count(b"<heap nr=")
        for way in ("few", "many")
    )
    assert few == max(4, len(os.sched_getaffinity(0)))
    assert many > few


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
