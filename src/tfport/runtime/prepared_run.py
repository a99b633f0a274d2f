"""What all runs of the same fetches and feeds have in common, looked up once per session.

Most runs feed arrays of the declared types and shapes. For those, the plan follows from the names alone,
and a run does no more than compare types and shapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from tfport.runtime.fed_tensor import FedTensor
from tfport.runtime.model_tracer import unassumed
from tfport.runtime.plan_cache import PlanKey

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MAX_PREPARED = 256
"""How many of them a session keeps."""


class PreparedRun:
    """The tensors that a run feeds, and the key of its plan."""

    __slots__ = ("_from_names", "_usual", "all_tensors", "fetches", "tensors")

    def __init__(self, fetches: tuple[str, ...], tensors: Sequence[FedTensor]) -> None:
        self.fetches, self.tensors = fetches, tensors
        self.all_tensors = all(":" in name for name in fetches)
        """Whether no node is run for its effect only."""
        nothing = (None,) * len(tensors)
        self._usual = PlanKey(fetches, tuple(tensor.name for tensor in tensors), nothing, nothing)
        self._from_names = all(tensor.shape.dims for tensor in tensors)

    def inputs(self, values: Iterable[ArrayLike], any_shape: bool) -> list[NDArray[Any]]:
        """The fed values as arrays; RunFailed where type or shape do not match."""
        return [*map(FedTensor.array, self.tensors, values, repeat(any_shape))]

    def key(self, inputs: Sequence[NDArray[Any]], any_shape: bool) -> PlanKey:
        """What to plan for: values of switches, and ranks that the tensors do not declare."""
        if self._from_names and (not any_shape or all(map(FedTensor.fits, self.tensors, inputs))):
            return self._usual
        pairs = list(zip(self.tensors, inputs, strict=True))
        ranks = tuple(tensor.undeclared_rank(array) for tensor, array in pairs)
        values = tuple(tensor.special_value(array) for tensor, array in pairs)
        return self._usual._replace(ranks=ranks, values=values)

    def unassumed(self, inputs: list[NDArray[Any]], key: PlanKey) -> list[NDArray[Any]]:
        """The inputs whose values a plan does not assume."""
        if key is self._usual:
            return inputs
        return unassumed(inputs, key.assumed)

    def results(self, outputs: list[Any]) -> list[Any]:
        """What the run returns: the outputs, and None for a node that is run for its effect."""
        if self.all_tensors:
            return outputs
        values = iter(outputs)
        return [next(values) if ":" in name else None for name in self.fetches]
