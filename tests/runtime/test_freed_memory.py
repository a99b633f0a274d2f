"""Freed memory goes back to the system, and the memory of weights' files before an engine copies them."""

import ctypes
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from tests.runtime.programs import WatchedEngine, session_of

from tfport.runtime import freed_memory
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


FREED = """
import ctypes, threading
from tfport.runtime.freed_memory import return_freed_memory, return_heap_ends, thread_pool
from tfport.serve.unused_memory import resident_bytes

SIZE, THREADS = 16 << 20, 4
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
libc.free(libc.malloc(3 * SIZE // 2))  # from now on, blocks of SIZE are in heaps
together = threading.Barrier(THREADS)

def use():
    together.wait()  # each in its own thread
    block = libc.malloc(SIZE)
    ctypes.memset(block, 1, SIZE)
    libc.free(block)

pool = thread_pool(THREADS, "test")
for _ in range(2):
    for call in [pool.submit(use) for _ in range(THREADS)]:
        call.result()
    return_freed_memory()
    before = resident_bytes()
    return_heap_ends()
    print(before - resident_bytes() > 2 * SIZE)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_what_threads_freed_is_returned_again_and_again():
    done = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["True", "True"], done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [("MALLOC_TRIM_THRESHOLD_", "1000000"), ("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=1000000")],
)
def test_thresholds_of_the_environment_are_kept(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    freed_memory._glibc.cache_clear()
    try:
        assert freed_memory._glibc() is None
        with freed_memory.thread_pool(1, "test") as pool:
            assert pool.submit(int).result() == 0
        freed_memory.return_heap_ends()
    finally:
        freed_memory._glibc.cache_clear()
