"""A profile: where the time of one run of a model goes. All times are in seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfport.runtime.profile.node_origins import NodeOrigin
from tfport.runtime.profile.recorder import HostNode
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class OpTime:
    """The time of all calls of one op."""

    op: str
    calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class IslandTime:
    """The time of one island."""

    ops: Mapping[str, int]
    """The TensorFlow ops in it, and how many of each."""
    onnx_nodes: int
    inside: str
    """The loop or branch whose body it belongs to; empty at the top."""
    calls: int
    seconds: float
    """The time in the engine."""
    copies: float
    """The time to pass arrays to the engine and back."""
    engine_ops: Sequence[OpTime] = ()
    """The ONNX ops by the engine's own profile, slowest first."""


@dataclass(frozen=True, slots=True)
class NodeTime:
    """A node in a run. `where` is the index of its island, `host`, or `folded`: computed before the run."""

    origin: NodeOrigin
    where: int | str
    calls: int = 0
    seconds: float = 0.0
    reason: str = ""
    """Why it is not in an island."""


@dataclass(frozen=True, slots=True)
class PassDone:
    """A pass, when it runs, and what it did while plans were made."""

    name: str
    what: str
    when: str
    graphs: int
    """In how many graphs or programs it ran."""
    removed: int
    """How many nodes or steps."""
    added: int


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the time of a run goes: the least of several runs, part by part."""

    runs: int
    total: float
    """The time of the fastest run."""
    processor: float
    """Processor time of a run, of all threads."""
    threads: int
    """How many threads an island may use."""
    islands: Sequence[IslandTime]
    host: Sequence[OpTime]
    """The host steps by op, slowest first."""
    host_nodes: Sequence[HostNode]
    """Nodes on the host whose op has a lowering, and why."""
    other: float
    """The rest, mostly the loop over the steps."""
    nodes: Sequence[NodeTime] = ()
    """The nodes of the model, slowest first; only if they were asked for."""
    passes: Sequence[PassDone] = ()
    """All passes, in the order in which they run."""

    @property
    def parts(self) -> dict[str, float]:
        """The time of islands, host steps, copies and the rest."""
        return {
            "islands": sum(island.seconds for island in self.islands),
            "host": sum(step.seconds for step in self.host),
            "copies": sum(island.copies for island in self.islands),
            "other": self.other,
        }

    @property
    def shares(self) -> dict[str, float]:
        """The parts as fractions of their sum."""
        whole = sum(self.parts.values()) or 1.0
        return {name: seconds / whole for name, seconds in self.parts.items()}

    @property
    def busy(self) -> float:
        """How many threads were busy on average; a thread that spins while it waits is busy."""
        return self.processor / self.total if self.total else 0.0
