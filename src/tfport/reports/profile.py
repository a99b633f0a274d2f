"""The report of `tfport bench --profile`: where the time of a run goes, as text or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tfport.reports.console import columns, title
from tfport.reports.layout import ReportPart, Text
from tfport.words import count

if TYPE_CHECKING:
    from tfport.runtime.profile.recorder import HostNode
    from tfport.runtime.profile.times import IslandTime, NodeTime, OpTime, PassDone, Profile

MILLI = 1e3
TIME = 11
MAX_ISLANDS, MAX_OPS, MAX_NAMED, MAX_REASONS = 12, 12, 5, 20
PARTS = {
    "islands": "in the engine",
    "host": "host steps in NumPy",
    "copies": "arrays to the engine and back",
    "other": "the loop over the steps, inputs and outputs",
}


def profile_json(profile: Profile) -> dict[str, Any]:
    nodes = {"nodes": [_node_json(node) for node in profile.nodes]} if profile.nodes else {}
    return {
        "runs": profile.runs,
        "latency_ms": profile.total * MILLI,
        "processor_ms": profile.processor * MILLI,
        "threads": profile.threads,
        "threads_busy": profile.busy,
        "parts_ms": {name: seconds * MILLI for name, seconds in profile.parts.items()},
        "islands": [
            {
                "inside": island.inside or None,
                "ops": dict(island.ops),
                "onnx_nodes": island.onnx_nodes,
                "calls": island.calls,
                "ms": island.seconds * MILLI,
                "copies_ms": island.copies * MILLI,
                "engine_ops": _ops_json(island.engine_ops),
            }
            for island in profile.islands
        ],
        "host": _ops_json(profile.host),
        "on_host_despite_lowering": [
            {"node": node.name, "op": node.op, "inside": node.inside or None, "reason": node.reason}
            for node in profile.host_nodes
        ],
        "passes": [
            {
                "pass": each.name,
                "what": each.what,
                "when": each.when,
                "graphs": each.graphs,
                "removed": each.removed,
                "added": each.added,
            }
            for each in profile.passes
        ],
        **nodes,
    }


def _node_json(node: NodeTime) -> dict[str, Any]:
    return {
        "function": node.origin.function,
        "node": node.origin.name,
        "op": node.origin.op,
        "ms": node.seconds * MILLI,
        "calls": node.calls,
        "where": node.where,
        "reason": node.reason or None,
    }


def _ops_json(times: Sequence[OpTime]) -> list[dict[str, Any]]:
    return [{"op": time.op, "calls": time.calls, "ms": time.seconds * MILLI} for time in times]


def profile_text(profile: Profile, batch: int, width: int) -> Iterator[ReportPart]:
    """The report, slowest parts first."""
    yield Text(
        f"  batch {batch}: {_ms(profile.total)}, processor {_ms(profile.processor)}: "
        f"{profile.busy:.1f} of {count(profile.threads, 'thread')} busy; best of {profile.runs} runs"
    )
    shares = profile.shares
    yield columns(
        [[name, PARTS[name], _ms(time), f"{shares[name]:.0%}"] for name, time in profile.parts.items()],
        width,
        right=2,
    )
    yield title("islands", _sum_of(len(profile.islands), MAX_ISLANDS, "the slowest"))
    slowest = sorted(profile.islands, key=lambda island: -island.seconds)[:MAX_ISLANDS]
    yield columns(
        [row for island in slowest for row in _island_rows(island)],
        width,
        head=["time".rjust(TIME), "copies".rjust(TIME), "calls", "ops"],
    )
    if profile.host:
        yield title("host steps", _sum_of(len(profile.host), MAX_OPS, "the slowest"))
        rows = [[_ms(step.seconds).rjust(TIME), str(step.calls), step.op] for step in profile.host[:MAX_OPS]]
        yield columns(rows, width, head=["time".rjust(TIME), "calls", "op"])
    if profile.host_nodes:
        groups = _by_reason(profile.host_nodes)
        yield title(
            "on the host, although their op has a lowering", _sum_of(len(groups), MAX_REASONS, "first")
        )
        yield columns(groups[:MAX_REASONS], width, head=["nodes", "op", "reason"])
    if ran := [each for each in profile.passes if each.graphs]:
        yield title("passes, in order", f"{len(ran)} of {len(profile.passes)} ran")
        yield columns(map(_pass_row, ran), width, head=["pass", "graphs", "nodes", "what it does"])


def _island_rows(island: IslandTime) -> Iterator[list[str]]:
    ops = sorted(island.ops.items(), key=lambda item: -item[1])
    names = ", ".join(op if n == 1 else f"{n} {op}" for op, n in ops[:MAX_NAMED])
    names += f", {len(ops) - MAX_NAMED} others" if len(ops) > MAX_NAMED else ""
    inside = f"\nin {island.inside}" if island.inside else ""
    yield [_ms(island.seconds).rjust(TIME), _ms(island.copies).rjust(TIME), str(island.calls), names + inside]
    for time in island.engine_ops[:MAX_OPS]:
        yield [_ms(time.seconds).rjust(TIME), "", str(time.calls), f"  ONNX {time.op}"]


def _pass_row(done: PassDone) -> list[str]:
    """Its name and what it did; what it does, where it did something."""
    if not done.removed and not done.added:
        return [done.name, str(done.graphs), "", ""]
    return [done.name, str(done.graphs), f"-{done.removed} +{done.added}", done.what]


def _by_reason(nodes: Sequence[HostNode]) -> list[list[str]]:
    """Number of nodes, op and reason, with the first node of each; the most frequent first."""
    groups: dict[tuple[str, str], list[HostNode]] = {}
    for node in nodes:
        groups.setdefault((node.op, node.reason), []).append(node)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    return [[str(len(same)), op, f"{reason}\n{same[0].name}"] for (op, reason), same in ordered]


def _sum_of(total: int, shown: int, which: str) -> str:
    return f"{which} {shown} of {total}" if total > shown else str(total)


def _ms(seconds: float) -> str:
    return f"{seconds * MILLI:,.2f} ms"
