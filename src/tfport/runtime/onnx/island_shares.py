"""Divide an island between two engines: models that run one after another.

A node that the other engine may not compute, and all that lies between two such nodes, cut an island into
stages. The other engine gets the stages with much of the work, which in a network for images are one or two;
whatever comes before, between and after them stays in the usual engine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import groupby

from tfport.runtime.onnx.island_parts import ModelPart, model_part, reads_of
from tfport.runtime.onnx.island_work import IslandWork, island_work
from tfport.runtime.onnx.least_size import least_size
from tfport.runtime.onnx.model import NodeForms
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass

LEAST_PART = 0.2
"""The part of an island's heavy nodes that a stage must have, to be worth another model."""
HEAVY = frozenset(["Conv", "ConvTranspose", "GRU", "Gemm", "LSTM", "MatMul"])


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """A model of some nodes of an island, and who may compute it."""

    elsewhere: bool
    """Whether the other engine may."""
    part: ModelPart
    work: IslandWork
    least_size: int
    """See `IslandHints`."""


def island_shares(
    nodes: Sequence[OnnxNode],
    outputs: Sequence[Operand],
    may_run_elsewhere: Callable[[OnnxNode], bool],
    forms: NodeForms,
) -> list[Share]:
    """The shares of an island in the order in which they run; at most one, the whole, without `elsewhere`.

    `forms`: which nodes the other engine gets.
    """
    stages = _stages(nodes, may_run_elsewhere)
    heavy = {number: sum(node.op in HEAVY for node in stage) for number, stage in stages.items()}
    least = max(1.0, LEAST_PART * sum(heavy.values()))

    def is_elsewhere(number: int) -> bool:
        return number % 2 == 1 and heavy[number] >= least

    groups = [
        (elsewhere, [node for number in numbers for node in stages[number]])
        for elsewhere, numbers in groupby(sorted(stages), is_elsewhere)
    ]
    shares: list[Share] = []
    needed = set(outputs)
    for elsewhere, of_group in reversed(groups):
        part = model_part(of_group, needed, forms if elsewhere else NodeForms.FASTEST)
        shares.append(Share(elsewhere, part, island_work(of_group, part.inputs), least_size(of_group)))
        needed.update(part.inputs)
    return shares[::-1]


def _stages(
    nodes: Sequence[OnnxNode], may_run_elsewhere: Callable[[OnnxNode], bool]
) -> dict[int, list[OnnxNode]]:
    """The nodes by stage, each as early as possible; those of odd stages may run elsewhere.

    After a node that may not, the next such stage begins with a heavy node.
    """
    stages: defaultdict[int, list[OnnxNode]] = defaultdict(list)
    stage_of: dict[Operand, int] = {}
    for node in nodes:
        own = int(may_run_elsewhere(node))
        stage = max((stage_of[o] for o in reads_of(node) if o in stage_of), default=own)
        if stage % 2 != own and (not own or node.op in HEAVY):
            stage += 1
        stages[stage].append(node)
        stage_of.update(dict.fromkeys(node.outputs, stage))
    return stages
