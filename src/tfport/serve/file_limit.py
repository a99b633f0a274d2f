"""How many connections the limit of open files allows."""

from __future__ import annotations

import contextlib
import os

from tfport.operating_system import is_windows

MOST_CONNECTIONS = 10_000
"""Connections of a port if the limit of open files is high."""
_SPARE = 64  # files for models, libraries, probes and the moment between two connections
_SELECTED = 512  # sockets that an event loop can watch on Windows, in Python's build of select


def raise_file_limit() -> None:
    """Use as many open files as the system allows this process."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows has no limit, macOS a lower one
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def connections_allowed(ports: int) -> int:
    """Return how many connections each of several ports may have."""
    if is_windows():
        return (_SELECTED - _SPARE) // ports
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    free = limit - open_files() - _SPARE
    return max(1, min(MOST_CONNECTIONS, free // ports))


def open_files() -> int:
    """How many files this process has open; 0 where the system does not say."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        with contextlib.suppress(OSError):
            return len(os.listdir(folder))
    return 0
