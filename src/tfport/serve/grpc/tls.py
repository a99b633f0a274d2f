"""TLS of the gRPC port: what `--ssl_config_file` says, a text message with PEM texts in it."""

from __future__ import annotations

from dataclasses import dataclass, field

import grpc

from tfport.errors import Error
from tfport.formats.encoding.message import parse_text
from tfport.formats.proto import serving_api_pb2 as pb


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM texts; with `verify` clients must have a certificate that one of `client_ca` signed."""

    certificate: bytes
    key: bytes = field(repr=False)
    client_ca: bytes = b""
    verify: bool = False

    def credentials(self) -> grpc.ServerCredentials:
        """As gRPC takes them."""
        if not self.certificate or not self.key:
            raise Error("TLS needs a certificate and a key of the server")
        if self.verify and not self.client_ca:
            raise Error("clients cannot be verified: there is no certificate authority for them")
        pair = (self.key, self.certificate)
        return grpc.ssl_server_credentials([pair], self.client_ca or None, self.verify)


def read_ssl_config(text: bytes, where: str) -> Tls:
    """The file's content, read; `where` is its name in errors."""
    config = parse_text(pb.SSLConfig, text, where)
    return Tls(
        config.server_cert.encode(),
        config.server_key.encode(),
        config.custom_ca.encode(),
        config.client_verify,
    )
