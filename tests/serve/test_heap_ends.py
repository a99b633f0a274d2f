"""Memory at the ends of glibc's heaps goes back to the system, though `malloc_trim` leaves it there."""

import platform
import subprocess
import sys

import pytest

from tfport.serve import heap_ends

FREED = """
import ctypes, threading
from tfport.runtime.freed_memory import return_freed_memory
from tfport.serve.heap_ends import return_heap_ends, server_threads
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

pool = server_threads(THREADS, "test")
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
    heap_ends._glibc.cache_clear()
    try:
        assert heap_ends._glibc() is None
        with heap_ends.server_threads(1, "test") as pool:
            assert pool.submit(int).result() == 0
        heap_ends.return_heap_ends()
    finally:
        heap_ends._glibc.cache_clear()
