"""What every client of the soak test knows: the server, its limits, and how to report a wrong answer."""

from dataclasses import dataclass, field

import aiohttp
import grpc.aio

MOST_BYTES = 110_000_000
"""The server's limit for the size of a body."""
TIMEOUT = 30
"""The server's timeout in seconds."""


LATE = (408, 504)
"""HTTP status of a request whose time was over."""


class Wrong(Exception):
    """An answer that is wrong."""


class Late(Wrong):
    """An answer that did not come in time: wrong, unless other programs kept the machine busy."""


def wrong_status(status: int, message: str) -> Wrong:
    """Return the error for a status that is not the expected one."""
    return (Late if status in LATE else Wrong)(f"{status} {message}"[:300])


def wrong_code(code: str, message: str) -> Wrong:
    """Return the error for a gRPC code that is not the expected one."""
    return (Late if code == "DEADLINE_EXCEEDED" else Wrong)(f"{code} {message}"[:300])


@dataclass
class Target:
    """The server's addresses, and the versions that may answer now."""

    rest: int
    grpc: int
    session: aiohttp.ClientSession
    channel: grpc.aio.Channel
    versions: set[int] = field(default_factory=set)
    """All versions of the model `m` that may still be loaded."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.rest}"
