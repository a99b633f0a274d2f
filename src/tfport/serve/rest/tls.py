"""TLS for the REST port: a certificate with its key, and whose clients are let in."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

from tfport.errors import Error


def server_context(
    certificate: bytes, key: bytes, client_ca: bytes = b"", *, verify: bool = False
) -> ssl.SSLContext:
    """From PEM texts; `verify` demands a certificate of the client, signed by one of `client_ca`."""
    if verify and not client_ca:
        raise Error("clients cannot be verified: there is no certificate authority for them")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    # Python reads a key from a file only: it lies in a folder of our own for that moment
    with tempfile.TemporaryDirectory() as folder:
        chain, secret = Path(folder, "chain.pem"), Path(folder, "key.pem")
        chain.write_bytes(certificate)
        secret.touch(0o600)
        secret.write_bytes(key)
        try:
            # a key with a password would be asked for at the terminal
            context.load_cert_chain(chain, secret, password=lambda: "")
        except (ssl.SSLError, OSError):
            raise Error("the certificate and the key of the server cannot be read, or do not fit") from None
    try:
        if client_ca:
            context.load_verify_locations(cadata=client_ca.decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise Error("the certificate authority for clients cannot be read") from None
    context.verify_mode = ssl.CERT_REQUIRED if verify else ssl.CERT_NONE
    return context


def context_of_files(certificate: str, key: str, client_ca: str = "") -> ssl.SSLContext:
    """From PEM files; with `client_ca` clients must have a certificate."""
    read = [_read(path) if path else b"" for path in (certificate, key, client_ca)]
    return server_context(read[0], read[1], read[2], verify=bool(client_ca))


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise Error(f"{path}: {error.strerror}") from None
