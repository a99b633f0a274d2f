"""The OpenAPI document describes every route, and docs/ui.md names each."""

import re
from pathlib import Path

from tfport.web.openapi import document
from tfport.web.run import API_ROUTES, PREFIX

PAGE = Path(__file__).parents[2] / "docs/ui.md"


def described():
    return {(method.upper(), path) for path, methods in document()["paths"].items() for method in methods}


def test_every_route_is_described_and_nothing_else():
    routes = {
        (route.method, PREFIX + re.sub(r"\{(\w+):[^}]*\}", r"{\1}", route.path)) for route in API_ROUTES
    }
    assert described() == routes


def test_the_document_is_served(ui):
    answer = ui.get("/openapi.json").json
    assert answer["openapi"].startswith("3.1")
    assert answer["security"] == [{"token": []}, {"cookie": []}]


def test_the_page_names_every_request():
    text = PAGE.read_text()
    missing = [f"{m} {p}" for m, p in sorted(described()) if f"{m} `{p.removeprefix(PREFIX)}" not in text]
    assert not missing
