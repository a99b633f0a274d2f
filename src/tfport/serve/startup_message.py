"""The messages of a server that has started: its addresses, its models and example calls."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tfport.graph.dtypes import BOOL, STRING
from tfport.graph.model import Signature, TensorSpec
from tfport.graph.reach import every_node
from tfport.runtime.select_signature import DEFAULT
from tfport.serve.servable import Servable
from tfport.serve.status import StatusError
from tfport.words import bracketed

if TYPE_CHECKING:
    from tfport.serve.server import Server

LARGEST = 16
"""Inputs with more elements than this get no example call."""
ENCODED = ("ParseExample", "ParseSingle", "ParseSequence", "Decode")
"""Ops whose strings are encoded messages or images."""


Served = dict[str, Servable | str]
"""Servables by model name, or the reason why a model has none."""


def greeting(server: Server) -> str:
    """Return the addresses of the server, its models, and how to call them; called in the event loop."""
    lines = [line for name, servable in served(server).items() for line in _model(server, name, servable)]
    return "".join(f"{line}\n" for line in (_addresses(server), *lines))


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


def _addresses(server: Server) -> str:
    host, path = server.flags.text("host"), server.flags.text("grpc_socket_path")
    where = [f"gRPC at {bracketed(host)}:{server.grpc_port}"] if server.grpc_port else []
    where += [f"gRPC at unix:{path}"] if path else []
    where += [f"REST at {_url(server)}"] if server.rest_port else []
    where += [f"health at http://{bracketed(host)}:{server.health_port}"] if server.health_port else []
    return f"tfport serves {', '.join(where)}"


def _model(server: Server, name: str, servable: Servable | str) -> Iterator[str]:
    if isinstance(servable, str):
        yield f"  {name}: {servable}"
        return
    yield f"  {name}, version {servable.version}"
    if server.rest_port:
        options = " -k" if server.flags.text("ssl_config_file") else ""
        options += ' -H "Authorization: Bearer $TOKEN"' if server.flags.text("auth_token_file") else ""
        yield from (f"    curl{options} {line}" for line in _examples(servable, _url(server)))


def _url(server: Server) -> str:
    scheme = "https" if server.flags.text("ssl_config_file") else "http"
    return f"{scheme}://{bracketed(server.flags.text('host'))}:{server.rest_port}"


def _examples(servable: Servable, address: str) -> Iterator[str]:
    """Yield curl arguments for the signatures with inputs short enough to type, the default one first."""
    url = f"{address}/v1/models/{quote(servable.name, safe='')}:predict"
    for signature in sorted(servable.signatures.values(), key=lambda signature: signature.name != DEFAULT):
        body = _body(signature)
        if body is not None and not _has_encoded_input(servable, signature):
            yield f"-d {shlex.quote(json.dumps(body))} {url}"


def _has_encoded_input(servable: Servable, signature: Signature) -> bool:
    """Whether a string input may have to be an encoded message or image, for which any text is invalid."""
    if all(spec.dtype != STRING for spec in signature.inputs.values()):
        return False
    return any(node.op.startswith(ENCODED) for node in every_node(servable.model.graph))


def _body(signature: Signature) -> dict[str, Any] | None:
    inputs = {name: _sample(spec) for name, spec in signature.inputs.items()}
    if None in inputs.values() or not inputs:
        return None
    named = {} if signature.name == DEFAULT else {"signature_name": signature.name}
    if (rows := _rows(inputs)) is not None and all(
        _has_rows(spec, len(rows)) for spec in signature.outputs.values()
    ):
        return {**named, "instances": rows}
    return {**named, "inputs": inputs if len(inputs) > 1 else next(iter(inputs.values()))}


def _rows(inputs: dict[str, Any]) -> list[Any] | None:
    """Return the rows of inputs; None if they do not all have the same number of rows."""
    counts = {len(value) if isinstance(value, list) else 0 for value in inputs.values()}
    if len(counts) > 1 or counts == {0}:
        return None
    if len(inputs) == 1:
        (only,) = inputs.values()
        return list(only)
    return [dict(zip(inputs, row, strict=True)) for row in zip(*inputs.values(), strict=True)]


def _has_rows(spec: TensorSpec, count: int) -> bool:
    """Whether an output can have this number of rows, as far as its shape is known."""
    dims = spec.shape.dims
    return dims is None or (bool(dims) and dims[0] in (None, count))


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
