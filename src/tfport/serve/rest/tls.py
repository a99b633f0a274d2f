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
