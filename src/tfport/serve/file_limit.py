"""How many connections the limit of open files allows."""

from __future__ import annotations

import os
import resource

MOST_CONNECTIONS = 10_000
"""Connections of a port if the limit of open files is high."""
_SPARE = 64  # files for models, libraries, probes and the moment between two connections


def raise_file_limit() -> None:
    """Use as many open files as the system allows this process."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def connections_allowed(ports: int) -> int:
    """Return how many connections each of several ports may have."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    free = limit - len(os.listdir("/proc/self/fd")) - _SPARE
    return max(1, min(MOST_CONNECTIONS, free // ports))
