"""TLS of the gRPC port: the PEM texts in `--ssl_config_file`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfport.errors import Error
from tfport.startup.dataclass import dataclass, field

if TYPE_CHECKING:
    import grpc


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM texts; `verify` requires client certificates signed by `client_ca`."""

    certificate: bytes
    key: bytes = field(repr=False)
    client_ca: bytes = b""
    verify: bool = False

    def credentials(self) -> grpc.ServerCredentials:
        """Return the credentials for gRPC."""
        if not self.certificate or not self.key:
            raise Error("TLS needs a server certificate and a server key")
        if self.verify and not self.client_ca:
            raise Error("cannot verify clients: no certificate authority for clients is configured")
        import grpc  # here, as servers read their options before they import it

        pair = (self.key, self.certificate)
        return grpc.ssl_server_credentials([pair], self.client_ca or None, self.verify)


def read_ssl_config(text: bytes, where: str) -> Tls:
    """Parse an SSLConfig text proto; `where` is its name in errors."""
    from tfport.formats.encoding.message import parse_text  # here, as few servers have TLS
    from tfport.formats.proto import serving_api_pb2 as pb

    config = parse_text(pb.SSLConfig, text, where)
    return Tls(
        config.server_cert.encode(),
        config.server_key.encode(),
        config.custom_ca.encode(),
        config.client_verify,
    )
