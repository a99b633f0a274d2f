"""What the kernels of XlaCallModule said in the real binaries: `xla_module_runs.json`.

A run is the version of the node, the version of its MLIR bytecode, its platforms, and the message or "runs".
"""

import json
from pathlib import Path

import pytest
from tests.recorded_models import graph

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.check.checked_model import unresolved_usage
from tfport.check.xla_modules import module_limits
from tfport.formats.stablehlo.bytecode import MAGIC
from tfport.graph.build import graph_to_def
from tfport.graph.dtypes import FLOAT32
from tfport.graph.usage import Usage
from tfport.registry.resolve import Resolver

RECORDED = json.loads(Path(__file__).with_name("xla_module_runs.json").read_text())
NODE = """
  x = Placeholder() {dtype=float32, shape=(2,)}
  y = XlaCallModule(x) {Tin=[float32], Tout=[float32], Sout=[(2,)], version=4, module="", platforms=[]}
"""


def module_usage(version, bytecode, platforms):
    node = graph(NODE).nodes["y"]
    node.attrs["version"] = version
    node.attrs["module"] = MAGIC + bytes([bytecode << 1 | 1]) + b"StableHLO\0"
    node.attrs["platforms"] = list(platforms or [])
    return Usage(node, (FLOAT32,), [node])


def says(version, bytecode, platforms, target):
    limits = module_limits(module_usage(version, bytecode, platforms), target, "CPU")
    return [answer.expected.says for answer in limits]


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda group: group["releases"][0])
def test_messages_are_those_of_the_real_binaries(recorded):
    for release in recorded["releases"]:
        target = resolve_targets(f"tensorflow=={release}")[0]
        for version, bytecode, platforms, text in recorded["runs"]:
            messages = says(version, bytecode, platforms, target)
            if text == "runs":
                assert not messages, (release, version, bytecode, platforms)
            else:
                assert text in messages, (release, version, bytecode, platforms, messages)


def test_a_release_without_the_op_has_no_limits():
    assert not says(99, 6, ["CPU"], resolve_targets("tensorflow==2.9.3")[0])  # it has no such op


def test_text_is_not_looked_into():
    usage = module_usage(5, 6, ["CPU"])
    usage.node.attrs["module"] = b"module {}"
    assert not list(module_limits(usage, resolve_targets("tensorflow==2.14.0")[0], "CPU"))


def test_the_cause_names_the_releases():
    for version, cause in (
        (10, "version 10 is supported from 2.20 on"),
        (3, "version 3 is supported before 2.14"),
        (99, "no recorded release supports version 99"),
    ):
        release = "2.16.1"
        target = resolve_targets(f"tensorflow=={release}")[0]
        usage = module_usage(version, 0, ["CPU"])
        (answer,) = unresolved_usage(usage, target, Resolver(), 0, [])
        assert answer.expected.cause.endswith(cause)


def test_check_reports_the_message():
    node = graph(NODE).nodes["y"]
    node.attrs["version"] = 10
    report = tfport.check(graph_to_def(node.graph).SerializeToString(), on="tensorflow==2.13.0")
    finding = report.findings[0]
    assert (report.verdict, finding.code) == ("fails", "TFP305")
    assert finding.says() == "XlaCallModuleOp with version 10 is not supported by this build. Must be <= 5"
    assert finding.message.endswith("does not support version=10")
