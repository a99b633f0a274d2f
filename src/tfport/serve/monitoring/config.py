"""Read a `--monitoring_config_file`, which enables Prometheus metrics, as in TensorFlow Serving."""

from __future__ import annotations

import os

from tfport.serve.status import StatusCode, StatusError, invalid_argument

DEFAULT_PATH = "/monitoring/prometheus/metrics"
LARGEST_FILE = 1 << 20


def metrics_path(file: str | os.PathLike[str]) -> str | None:
    """Return the URL path of the metrics; None if the file does not enable them."""
    from google.protobuf import text_format

    from tfport.formats.proto import monitoring_pb2 as pb

    try:
        with open(file, "rb") as opened:
            text = opened.read(LARGEST_FILE).decode()
        config = text_format.Parse(text, pb.MonitoringConfig()).prometheus_config
    except OSError as error:
        raise StatusError(StatusCode.NOT_FOUND, f"{os.fspath(file)}: {error.strerror}") from None
    except (UnicodeDecodeError, text_format.ParseError) as error:
        message = " ".join(str(error).split())
        raise invalid_argument(f"Invalid protobuf file: '{os.fspath(file)}': {message}") from None
    path = config.path or DEFAULT_PATH
    if config.enable and not path.startswith("/"):
        raise invalid_argument(f"{os.fspath(file)}: path must begin with /, got `{path}`")
    return path if config.enable else None
