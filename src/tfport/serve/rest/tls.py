"""TLS for the REST port: server certificate and key, and verification of clients."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

from tfport.errors import Error


def server_context(
    certificate: bytes, key: bytes, client_ca: bytes = b"", *, verify: bool = False
) -> ssl.SSLContext:
    """Return a context from PEM texts; `verify` requires client certificates signed by `client_ca`."""
    if verify and not client_ca:
        raise Error("cannot verify clients: no certificate authority for clients is configured")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    # Python reads keys only from files: write it to a temporary folder
    with tempfile.TemporaryDirectory() as folder:
        chain, secret = Path(folder, "chain.pem"), Path(folder, "key.pem")
        chain.write_bytes(certificate)
        secret.touch(0o600)
        secret.write_bytes(key)
        try:
            # without a password, OpenSSL would ask for one on the terminal
            context.load_cert_chain(chain, secret, password=lambda: "")
        except (ssl.SSLError, OSError):
            raise Error("cannot read the server certificate and key, or they do not match") from None
    try:
        if client_ca:
            context.load_verify_locations(cadata=client_ca.decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise Error("cannot read the certificate authority for clients") from None
    context.verify_mode = ssl.CERT_REQUIRED if verify else ssl.CERT_NONE
    return context


def context_of_files(certificate: str, key: str, client_ca: str = "") -> ssl.SSLContext:
    """Return a context from PEM files; with `client_ca`, clients need a certificate."""
    read = [_read(path) if path else b"" for path in (certificate, key, client_ca)]
    return server_context(read[0], read[1], read[2], verify=bool(client_ca))


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise Error(f"{path}: {error.strerror}") from None
