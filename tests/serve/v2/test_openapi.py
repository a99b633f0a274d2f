import json
import re

from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.v2.openapi import SCHEMAS, paths
from tfport.serve.v2.rest import routes


def test_every_route_is_described_and_no_other():
    there = {(route.method.lower(), route.path) for route in routes(ModelCatalog(), lambda: True)}
    described = {
        (method, path) for path, item in paths().items() for method in item if method != "parameters"
    }
    assert described == there - {("*", "/v2/{path:.*}"), ("get", "/v2/")}


def test_every_schema_exists_and_is_used():
    text = json.dumps([paths(), SCHEMAS])
    assert set(re.findall(r"#/components/schemas/(\w+)", text)) == set(SCHEMAS)


def test_operations_have_names_of_their_own():
    names = [
        op["operationId"] for item in paths().values() for key, op in item.items() if key != "parameters"
    ]
    assert len(names) == len(set(names))
