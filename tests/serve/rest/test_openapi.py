"""The OpenAPI document describes what the server does."""

import json
import re
from typing import Any

from tests.serve.rest.server import Port, with_port

from tfport.serve.rest.openapi import document

NAMES = {"model": "half", "version": "2", "label": "stable"}
BODIES = {"PredictRequest": {"instances": [1]}, "ExamplesRequest": {"examples": [{"x": 1.0}]}}


def test_every_path_exists_and_answers_with_a_documented_status():
    async def check(port: Port) -> None:
        status, described = await port.ask("GET", "/openapi.json")
        assert (status, described["openapi"]) == (200, "3.1.0")
        for path, item in described["paths"].items():
            for method, operation in item.items():
                if method == "parameters":
                    continue
                body = operation.get("requestBody", {}).get("content", {}).get("application/json")
                sent = BODIES[body["schema"]["$ref"].rpartition("/")[2]] if body else None
                status_found, answer = await port.ask(method.upper(), path.format(**NAMES), sent)
                assert str(status_found) in operation["responses"], path
                assert "Malformed" not in str(answer), path

    with_port(check)


def test_every_reference_and_parameter_is_declared():
    for with_tokens in (False, True):
        described = json.loads(document(with_tokens=with_tokens))
        schemas = described["components"]["schemas"]
        assert {ref.rpartition("/")[2] for ref in references(described)} <= set(schemas)
        for path, item in described["paths"].items():
            declared = [parameter["name"] for parameter in item.get("parameters", [])]
            assert declared == re.findall(r"{(\w+)}", path)
        ids = [op["operationId"] for item in described["paths"].values() for op in operations(item)]
        assert len(ids) == len(set(ids))
        assert ("securitySchemes" in described["components"]) == with_tokens


def operations(item: dict[str, Any]) -> list[dict[str, Any]]:
    return [value for key, value in item.items() if key in ("get", "post")]


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        mine = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return mine + [ref for item in value.values() for ref in references(item)]
    return [ref for item in value for ref in references(item)] if isinstance(value, list) else []
