"""The models that TensorFlow wrote for the tests, what it said of them, and graphs in our notation."""

from __future__ import annotations

import functools
from pathlib import Path
from textwrap import dedent
from typing import Any

from tests.compact_json import read_json

import tfport
from tfport.atlas.known_ops import known_ops
from tfport.graph.graph import Graph
from tfport.graph.model import Model
from tfport.graph.op_signature import OpTable
from tfport.graph.parse import parse_graph

MODELS = Path(__file__).parent / "models"
EXPECTED: dict[str, Any] = read_json(MODELS / "expected.json.xz")["models"]
NAMES = sorted(EXPECTED)
OPS = OpTable(known_ops())


def of_kind(*kinds: str) -> list[str]:
    """The names of the models of these kinds."""
    return [name for name in NAMES if EXPECTED[name]["kind"] in kinds]


PROGRAMS = of_kind("saved_model", "meta_graph", "graph_def")


def path_of(name: str) -> str:
    return str(MODELS / name / EXPECTED[name]["file"]).rstrip("/")


def load(name: str, tags: list[str] | None = None) -> Model:
    """A model of its own, to change as one likes."""
    return tfport.load(path_of(name), tags=tags)


@functools.cache
def shared(name: str) -> Model:
    """A model that no test changes."""
    return load(name)


def graph(text: str) -> Graph:
    """The graph that these lines say."""
    return parse_graph(dedent(text), OPS)
