"""Reports made by hand, for tests of report formats without a check."""

from __future__ import annotations

from tests.recorded_models import graph

from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.target import Target
from tfport.check.check import FAILS, RUNS, UNKNOWN, Result
from tfport.check.check_report import CheckReport
from tfport.check.findings.finding import LOAD, Finding
from tfport.check.findings.ops import UnknownOp, UnregisteredOp

NODES = list(
    graph(
        """
        a = Placeholder() {dtype=float32, shape=(2, 2)}
        y = BatchMatMulV2(a, a) {T=float32, adj_x=false, adj_y=false}
        y_1 = BatchMatMulV2(a, y) {T=float32, adj_x=false, adj_y=false}
        """
    )
)[1:]


def target(version: str, **options: str) -> Target:
    return resolve_targets(f"tensorflow=={version}", **options)[0]


def unregistered(on: Target, op: str = "BatchMatMulV2", stage: str | None = LOAD) -> Finding:
    return UnregisteredOp(
        on=on,
        nodes=NODES,
        op=op,
        released="since 1.14.0",
        instead="BatchMatMul",
        stage=stage,
        signatures=["serving_default"] if stage else [],
    )


def custom(on: Target, op: str = "Acme>Tokenize") -> Finding:
    return UnknownOp(
        on=on,
        nodes=NODES[:1],
        op=op,
        stage=LOAD,
        signatures=["serving_default"],
        doubt="op.so may register it: not all of its code could be read",
    )


def fails(on: Target, *findings: Finding, loaders: tuple[str, ...] = ("python", "serving")) -> Result:
    return Result(on, loaders, FAILS, findings[0].stage, list(findings))


def unknown(on: Target, *findings: Finding, loaders: tuple[str, ...] = ("python", "serving")) -> Result:
    return Result(on, loaders, UNKNOWN, None, list(findings))


def runs(on: Target, *notes: Finding, loaders: tuple[str, ...] = ("python", "serving")) -> Result:
    return Result(on, loaders, RUNS, None, list(notes))


def report(
    *results: Result, model: str = "export/1", signatures: tuple[str, ...] = ("serving_default",)
) -> CheckReport:
    return CheckReport(model, "2.21.0", 2474, 0, list(signatures), list(results))
