"""The messages of a server that has started: its addresses, its models and example calls."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tfport.graph.dtypes import BOOL, STRING
from tfport.graph.model import Signature, TensorSpec
from tfport.serve.hosts import bracketed
from tfport.serve.servable import Servable
from tfport.serve.status import StatusError

if TYPE_CHECKING:
    from tfport.serve.server import Server

LARGEST = 16
"""Inputs with more elements than this get no example call."""


Served = dict[str, Servable | str]
"""Servables by model name, or the reason why a model has none."""


def addresses(server: Server) -> str:
    """Return one line with the addresses the server listens on."""
    host, path = server.flags.text("host"), server.flags.text("grpc_socket_path")
    where = [f"gRPC at {bracketed(host)}:{server.grpc_port}"] if server.grpc_port else []
    where += [f"gRPC at unix:{path}"] if path else []
    where += [f"REST at {_url(server)}"] if server.rest_port else []
    where += [f"health at http://{bracketed(host)}:{server.health_port}"] if server.health_port else []
    return f"tfport serves {', '.join(where)}"


def served(server: Server) -> Served:
    """Collect the models to list; must be called in the event loop."""
    models: Served = {}
    reasons = server.manager.reasons()
    for name in server.catalog.names():
        try:
            models[name] = server.catalog.get(name)
        except StatusError as error:
            models[name] = reasons.get(name, error.message)
    return models


def models(server: Server, served_models: Served) -> str:
    """Return a few lines per model: which signatures run, and how to call them."""
    return "\n".join(
        line for name, servable in served_models.items() for line in _model(server, name, servable)
    )


def _model(server: Server, name: str, servable: Servable | str) -> Iterator[str]:
    # imports all of `check`, which serving does not need
    from tfport.serve.models.signature_verdicts import signature_verdicts

    if isinstance(servable, str):
        yield f"  {name}: {servable}"
        return
    yield f"  {name}, version {servable.version}"
    for verdict in signature_verdicts(servable.model, server.registry):
        yield f"    {verdict}"
    if server.rest_port:
        options = " -k" if server.flags.text("ssl_config_file") else ""
        options += ' -H "Authorization: Bearer $TOKEN"' if server.flags.text("auth_token_file") else ""
        yield from (f"    curl{options} {line}" for line in _examples(servable, _url(server)))


def _url(server: Server) -> str:
    scheme = "https" if server.flags.text("ssl_config_file") else "http"
    return f"{scheme}://{bracketed(server.flags.text('host'))}:{server.rest_port}"


def _examples(servable: Servable, address: str) -> Iterator[str]:
    """Yield curl arguments for each signature whose inputs are short enough to type."""
    url = f"{address}/v1/models/{quote(servable.name, safe='')}:predict"
    for signature in servable.signatures.values():
        body = _body(signature)
        if body is not None:
            yield f"-d {shlex.quote(json.dumps(body))} {url}"


def _body(signature: Signature) -> dict[str, Any] | None:
    inputs = {name: _sample(spec) for name, spec in signature.inputs.items()}
    if None in inputs.values() or not inputs:
        return None
    named = {} if signature.name == "serving_default" else {"signature_name": signature.name}
    return {**named, "inputs": inputs if len(inputs) > 1 else next(iter(inputs.values()))}


def _sample(spec: TensorSpec) -> Any:
    """Return an example value of an input, with 1 for unknown sizes; None if it is too long to type."""
    if spec.shape.dims is None or len(spec.tensors) > 1:
        return None
    sizes = [1 if size is None else size for size in spec.shape.dims]
    count = 1
    for size in sizes:
        count *= size
    if count > LARGEST:
        return None
    value: Any = (
        "text"
        if spec.dtype == STRING
        else False
        if spec.dtype == BOOL
        else 1
        if spec.dtype.is_integer
        else 1.0
    )
    for size in reversed(sizes):
        value = [value] * size
    return value
