"""Certificates for TLS tests, made with openssl and valid for a day."""

from __future__ import annotations

import subprocess
from pathlib import Path


def make(folder: Path, name: str, authority: str | None = None) -> tuple[Path, Path]:
    """Make a certificate and its key, signed by `authority` or self-signed."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-days", "2", "-subj", f"/CN={name}", "-keyout", str(key), "-out", str(certificate)]
    if authority:
        command += ["-CA", str(folder / f"{authority}.pem"), "-CAkey", str(folder / f"{authority}.key")]
        command += ["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"]
    else:  # since 3.13, Python trusts no authority that does not say so
        command += ["-addext", "keyUsage=critical,digitalSignature,keyCertSign"]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key
