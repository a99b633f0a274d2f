"""What every client of the soak test knows: the server, its limits, and how to report a wrong answer."""

from dataclasses import dataclass, field

import aiohttp
import grpc.aio

MOST_BYTES = 110_000_000
"""The server's limit for the size of a body."""
TIMEOUT = 30
"""The server's timeout in seconds."""


class Wrong(Exception):
    """An answer that is wrong."""


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
