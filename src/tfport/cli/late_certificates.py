"""Import aiohttp without reading the certificates of the system.

aiohttp makes the TLS context of its client when it is imported, which reads every certificate that the
system trusts: a seventh of the time until a server answers. tfport uses the server of aiohttp only. A
custom op may use the client: the context reads the certificates before its first connection.

    with certificates_read_later():
        from aiohttp import web
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class LateCertificates(ssl.SSLContext):
    """A TLS context that becomes a usual one, with the certificates of the system, at its first use."""

    def wrap_socket(self, *args: Any, **options: Any) -> ssl.SSLSocket:
        self._read_certificates()
        return self.wrap_socket(*args, **options)

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        self._read_certificates()
        return self.wrap_bio(*args, **options)

    def _read_certificates(self) -> None:
        self.__class__ = ssl.SSLContext  # type: ignore[assignment]
        self.set_default_verify_paths()


@contextmanager
def certificates_read_later() -> Iterator[None]:
    """Contexts made meanwhile read the certificates of the system when they are used."""
    usual = ssl.SSLContext.set_default_verify_paths
    ssl.SSLContext.set_default_verify_paths = _read_later  # type: ignore[assignment]
    try:
        yield
    finally:
        ssl.SSLContext.set_default_verify_paths = usual  # type: ignore[method-assign]


def _read_later(context: ssl.SSLContext) -> None:
    context.__class__ = LateCertificates
