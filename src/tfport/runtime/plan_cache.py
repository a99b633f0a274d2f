"""The plans of a session, a bounded number of them.

A plan is for a set of fetches and feeds. Callers choose more: TF1 models feed switches, and a fed tensor
may have a rank that the graph does not declare. A plan for such a choice may have its own copy of the
weights, so there are at most `MAX_SPECIAL_PLANS` of them. Beyond that, another value of a switch uses the
plan for any value; another rank, which no other plan can run, displaces the plan that was not used for
longest. Plans for inputs that the engine refused count too. Plans for further fetches and feeds displace
others in the same way.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple, Union

from tfport.graph.model import Signature
from tfport.runtime.fed_tensor import FedValue
from tfport.runtime.placed_plan import PlacedPlan
from tfport.runtime.plan import Plan
from tfport.runtime.stored.stored_island import StoredPlan
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from tfport.runtime.engines.litert.whole_file import WholeFilePlan

AnyPlan = Union[Plan, PlacedPlan, StoredPlan, "WholeFilePlan"]

Assumed = int | FedValue | None
"""What a plan assumes of a fed tensor: its rank, its value, or only what the graph declares."""
MAX_PLANS = 256
MAX_SPECIAL_PLANS = 16


class PlanKey(NamedTuple):
    """What a plan is for. `ranks` has those that the graph does not declare, `values` those of switches.

    `on_host`: a plan without an engine, for inputs that the engine refused.
    """

    fetches: tuple[str, ...]
    feeds: tuple[str, ...]
    ranks: tuple[int | None, ...]
    values: tuple[FedValue | None, ...]
    on_host: bool = False

    @classmethod
    def of_signature(cls, signature: Signature) -> PlanKey:
        """What to plan for if a signature is called with arrays of the shapes that it declares."""
        feeds = tuple(tensor for spec in signature.inputs.values() for tensor in spec.tensors)
        fetches = tuple(tensor for spec in signature.outputs.values() for tensor in spec.tensors)
        nothing = (None,) * len(feeds)
        return cls(fetches, feeds, nothing, nothing)

    @property
    def assumed(self) -> list[Assumed]:
        return [value or rank for value, rank in zip(self.values, self.ranks, strict=True)]

    @property
    def is_special(self) -> bool:
        """Whether the caller chose more than fetches and feeds, or inputs that the engine refused."""
        known = len(self.ranks)
        return self.on_host or self.ranks.count(None) < known or self.values.count(None) < known

    def for_any_value(self) -> PlanKey:
        return self._replace(values=(None,) * len(self.values))


@dataclass(slots=True)
class _Cached:
    plan: AnyPlan
    version: int
    used: int


class PlanCache:
    """Plans by key, each valid for one version of the state. One thread at a time may add."""

    def __init__(self) -> None:
        self._cached: dict[PlanKey, _Cached] = {}
        self._clock = itertools.count()

    def __len__(self) -> int:
        return len(self._cached)

    def clear(self) -> None:
        """Drop all plans and their copies of weights; they are made again when they are needed."""
        self._cached.clear()

    @property
    def keys(self) -> list[PlanKey]:
        return list(self._cached)

    @property
    def plans(self) -> list[AnyPlan]:
        return [cached.plan for cached in self._cached.values()]

    def made_for(self, signature: Signature) -> list[AnyPlan]:
        """The plans for the inputs of a signature, without those for inputs that the engine refused."""
        feeds = PlanKey.of_signature(signature).feeds
        entries = list(self._cached.items())
        return [cached.plan for key, cached in entries if set(key.feeds) == set(feeds) and not key.on_host]

    def get(self, key: PlanKey, version: int) -> AnyPlan | None:
        """The plan for a key; None if there is none for this version of the state."""
        cached = self._cached.get(key)
        if cached is None or cached.version != version:
            return None
        cached.used = next(self._clock)
        return cached.plan

    def admitted(self, key: PlanKey) -> PlanKey:
        """The key to plan for: this one, or that for any value if there are too many special plans."""
        if key in self._cached or key.values.count(None) == len(key.values) or not self._is_full():
            return key
        return key.for_any_value()

    def add(self, key: PlanKey, plan: AnyPlan, version: int) -> None:
        """Keep a plan, and drop another if there are too many."""
        if key not in self._cached:
            if key.is_special and self._is_full():
                self._drop([other for other in self._cached if other.is_special])
            if len(self._cached) >= MAX_PLANS:
                self._drop(list(self._cached))
        self._cached[key] = _Cached(plan, version, next(self._clock))

    def _is_full(self) -> bool:
        return sum(other.is_special for other in list(self._cached)) >= MAX_SPECIAL_PLANS

    def _drop(self, keys: list[PlanKey]) -> None:
        """Drop the plan that was not used for longest."""
        del self._cached[min(keys, key=lambda key: self._cached[key].used)]
