"""The fastest engine for each island: ONNX Runtime, LiteRT or OpenVINO, with one thread or all.

`OTHERS` lists the engines that race against ONNX Runtime, and which nodes each may compute; `raced_island`
decides when and how an island chooses, `shared_island` who computes the remaining nodes, and `choice_cache`
where choices are remembered.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfport.formats.proto import onnx_pb2 as pb
from tfport.operating_system import processors
from tfport.runtime.engines.choice_cache import Choice, ChoiceCache, FixedChoice, choices_of_user
from tfport.runtime.engines.engine import NO_HINTS, Compiled, Engine, IslandHints, Sizes
from tfport.runtime.engines.island_key import island_key
from tfport.runtime.engines.litert.litert_nodes import LiteRtNodes
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.engines.openvino_nodes import may_run_elsewhere
from tfport.runtime.engines.raced_island import PATIENCE, RacedIsland
from tfport.runtime.engines.rounded_model import rounded_model
from tfport.runtime.engines.same_answers import are_ordinary
from tfport.runtime.engines.shared_island import shared_island
from tfport.runtime.passes.islands.island_parts import Share
from tfport.runtime.passes.pass_list import IslandForm, NodeForms
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray


MAX_WEIGHTS = 256 << 20
"""Bytes of weights above which there is no race: each contender has its own copy."""


class AutoEngine(Engine):
    """Compiles islands that choose their engine by measuring."""

    name = "ONNX Runtime"
    checks_indices = True
    form = IslandForm(divides=True)

    def __init__(
        self,
        threads: int | None = None,
        *,
        spins: bool = True,
        max_bytes: int = 0,
        shares_arena: bool = False,
        choices: ChoiceCache | None = None,
        patience: float = PATIENCE,
    ) -> None:
        """`choices`: those to use and to extend (default: those of this user); see also `OnnxRuntime`.

        `patience`: seconds in an island after which it races. Only ONNX Runtime takes part with `max_bytes`,
        as the memory of the others cannot be limited.
        """
        self._onnx_runtime = functools.partial(
            OnnxRuntime, spins=spins, max_bytes=max_bytes, shares_arena=shares_arena
        )
        self._usual = self._onnx_runtime(threads)
        self.threads = self._usual.threads
        self._choices = choices or choices_of_user()
        self._patience = patience
        self._others = [name for name, other in OTHERS.items() if not max_bytes and other.is_installed]

    def takes(self, node: OnnxNode) -> bool:
        return self._usual.takes(node)

    def compile(
        self,
        model: bytes,
        weights: Mapping[str, NDArray[Any]],
        inputs: Sequence[str],
        outputs: Sequence[str],
        hints: IslandHints = NO_HINTS,
    ) -> Compiled:
        def shares(name: str, sizes: Sizes) -> Sequence[Share]:
            return hints.shares(OTHERS[name].nodes(), OTHERS[name].forms, sizes) if hints.shares else ()

        def compiled_by(choice: Choice, sizes: Sizes = ()) -> Compiled:
            onnx_runtime = self._onnx_runtime(choice.threads)
            if choice.engine in OTHERS:
                other = OTHERS[choice.engine].create(choice.threads)
                return shared_island(shares(choice.engine, sizes), inputs, outputs, onnx_runtime, other)
            return onnx_runtime.compile(model, weights, inputs, outputs, hints)

        def nearby(number: int) -> Compiled:
            plain = replace(hints, save_as=None)
            return self._usual.compile(*rounded_model(model, weights, number), inputs, outputs, plain)

        @functools.cache
        def key() -> str:
            graph = pb.ModelProto.FromString(model).graph
            return island_key(graph, weights, self._usual.threads, hints.alone)

        def rivals(sizes: Sizes) -> list[Choice]:
            others = [name for name in self._others if any(share.elsewhere for share in shares(name, sizes))]
            return self._rivals(others)

        usual = Choice("onnxruntime", self._usual.threads)
        is_always_light = hints.work.is_fixed and hints.work.may_be_light
        if is_always_light or sum(array.nbytes for array in weights.values()) > MAX_WEIGHTS:
            return compiled_by(usual)
        return RacedIsland(
            compiled_by,
            usual,
            lambda sizes: f"{key()}:{list(sizes)}",
            rivals,
            self._choices,
            hints.work,
            are_ordinary,
            self._patience,
            nearby,
        )

    def _rivals(self, others: Sequence[str]) -> list[Choice]:
        counts = sorted({1, self._usual.threads})
        choices = [Choice(engine, count) for engine in ("onnxruntime", *others) for count in counts]
        choices.remove(Choice("onnxruntime", self._usual.threads))
        return choices


def litert_engine(threads: int | None = None, **options: Any) -> AutoEngine:
    """LiteRT for all that it computes as ONNX Runtime does, without a race; ONNX Runtime for the rest.

    `options` are those of `AutoEngine`.
    """
    count = threads or processors()
    OTHERS["litert"].create(count)  # an error if it is not installed
    return AutoEngine(threads, choices=FixedChoice(Choice("litert", count)), patience=0, **options)


# The engines that race against ONNX Runtime


@dataclass(frozen=True, slots=True)
class OtherEngine:
    """An engine for shares of islands, with ordinary inputs of known sizes."""

    package: str
    """The module that must be installed."""
    nodes: Callable[[], Callable[[OnnxNode], bool]]
    """Says, for the nodes of one island in their order, which the engine may compute."""
    forms: NodeForms
    create: Callable[[int], Engine]
    """The engine for a number of threads."""

    @property
    def is_installed(self) -> bool:
        return importlib.util.find_spec(self.package) is not None


@functools.cache
def _litert(threads: int) -> Engine:
    from tfport.runtime.engines.litert.litert import LiteRt

    return LiteRt(threads)


@functools.cache
def _openvino(threads: int) -> Engine:
    from tfport.runtime.engines.openvino import OpenVino

    return OpenVino(threads, only_fixed=True)


OTHERS = {
    "openvino": OtherEngine("openvino", lambda: may_run_elsewhere, NodeForms.OPENVINO, _openvino),
    "litert": OtherEngine("ai_edge_litert", LiteRtNodes, NodeForms.PLAIN, _litert),
}
"""By the name that a choice has, in the order in which they race: the last one is most often the fastest, and
the winner is compiled again unless it was the last."""
