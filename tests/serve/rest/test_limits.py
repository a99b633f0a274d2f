"""Limits on requests and bodies, and other options."""

import asyncio

from tests.serve.rest.server import Port, with_port

from tfport.serve.rest.body_budget import BodyBudget
from tfport.serve.rest.options import RestOptions
from tfport.serve.v2 import openapi as v2


def test_requests_beyond_the_most_are_refused_and_probes_are_not():
    async def check(port: Port) -> None:
        first = asyncio.ensure_future(port.ask("POST", "/v1/models/gated:predict", {"instances": [1]}))
        await port.gate.waiting.wait()
        status, body = await port.ask("POST", "/v1/models/half:predict", {"instances": [1]})
        assert (status, body) == (429, {"error": "Too many requests: 1 are already in progress"})
        assert (await port.ask("GET", "/v1/health/ready"))[0] == 200
        port.gate.open.set()
        assert (await first)[0] == 200
        assert (await port.ask("POST", "/v1/models/half:predict", {"instances": [1]}))[0] == 200

    with_port(check, RestOptions(port=0, most_calls=1))


def test_bodies_beyond_the_memory_limit_are_rejected():
    budget, large = BodyBudget(3000), {"instances": [0.5] * 500}  # some 2,500 bytes

    async def check(port: Port) -> None:
        first = asyncio.ensure_future(port.ask("POST", "/v1/models/gated:predict", large))
        await port.gate.waiting.wait()
        status, body = await port.ask("POST", "/v1/models/half:predict", large)
        assert (status, body["error"][:18]) == (429, "Too many requests:")
        assert (await port.ask("POST", "/v1/models/half:predict", {"instances": [1]}))[0] == 200
        port.gate.open.set()
        assert (await first)[0] == 200
        assert (await port.ask("POST", "/v1/models/half:predict", large))[0] == 200
        assert (await port.ask("POST", "/v1/models/half:predict", b"{"))[0] == 400
        assert budget.in_use == 0

    with_port(check, RestOptions(port=0, body_budget=budget))


def test_the_method_name_is_checked_if_enabled():
    request = {"signature_name": "classes", "examples": [{"x": 1.0}]}

    async def check(port: Port) -> None:
        status, body = await port.ask("POST", "/v1/models/examples:classify", request)
        assert status == 400
        assert "Expected classification signature method_name to be" in body["error"]
        regress = {"examples": request["examples"]}
        assert (await port.ask("POST", "/v1/models/examples:regress", regress))[0] == 400

    with_port(check, RestOptions(port=0, check_method=True))


def test_the_document_includes_the_paths_of_other_protocols():
    async def check(port: Port) -> None:
        described = (await port.ask("GET", "/openapi.json"))[1]
        assert described["paths"].items() >= v2.paths().items()
        assert set(v2.SCHEMAS) <= set(described["components"]["schemas"])

    with_port(check, extra_paths=v2.paths(), extra_schemas=v2.SCHEMAS)


def test_probes_need_no_token_in_the_document():
    paths = v2.paths(with_tokens=True)
    free = {path for path, item in paths.items() if "get" in item and "security" not in item["get"]}
    assert free == {"/v2/health/live", "/v2/health/ready"}
