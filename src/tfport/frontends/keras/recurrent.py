"""Run a cell over sequences, as recurrent layers do: order, masks, initial states, and what is returned.

A masked step keeps the states. Its output is that of the step before, or zeros. A `stateful` layer starts
from zeros in each call: it answers as after `reset_states`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor, flat_tensors
from tfport.frontends.keras.version import KerasVersion
from tfport.graph.building.arrays import reverse, transpose, zeros
from tfport.graph.building.node_builder import Dims
from tfport.graph.building.sizes import sizes
from tfport.graph.building.time_loop import over_time
from tfport.graph.dtypes import BOOL
from tfport.startup.dataclass import dataclass

Tensors = list[LayerTensor]
CellStep = Callable[[LayerTensor, Tensors], tuple[LayerTensor, Tensors]]
REPEATS_STATE_BEFORE = KerasVersion((2, 3, 0))
"""Before this version of Keras, the output of a masked step is the first state before it."""


@dataclass(frozen=True, slots=True)
class RnnOptions:
    """The options of all recurrent layers."""

    return_sequences: bool = False
    return_state: bool = False
    go_backwards: bool = False
    stateful: bool = False
    unroll: bool = False
    time_major: bool = False
    zero_output_for_mask: bool = False
    use_cudnn: Any = None
    num_constants: int | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its step, and the sizes of its states without the batch."""

    step: CellStep
    states: Sequence[Dims]
    output: int = 0
    """The state that is the output."""


@dataclass(frozen=True, slots=True)
class RnnCall:
    """The arguments of a call of a recurrent layer."""

    sequences: Any
    """A tensor; in Keras 2 also a list of it and the initial states."""
    initial_state: Any = None
    mask: Any = None
    """The mask, if the call states it."""
    constants: Any = None
    """Tensors that each step gets; in Keras 2 also the last ones in the list with the sequences."""

    def states(self, options: RnnOptions) -> Tensors:
        """The initial states; none for zeros."""
        listed = self._listed()
        states = listed[: len(listed) - self._listed_constants(options)]
        return states or [state.with_mask(None) for state in flat_tensors(self.initial_state)]

    def constant_tensors(self, options: RnnOptions) -> Tensors:
        """The tensors that each step gets."""
        listed = self._listed()
        constants = listed[len(listed) - self._listed_constants(options) :]
        return constants or list(flat_tensors(self.constants))

    def _listed(self) -> Tensors:
        """The tensors after the sequences."""
        return [tensor.with_mask(None) for tensor in list(flat_tensors(self.sequences))[1:]]

    def _listed_constants(self, options: RnnOptions) -> int:
        return 0 if self.constants is not None else min(options.num_constants or 0, len(self._listed()))


def recurrent(b: LayerBuilder, call: RnnCall, cell: Cell, options: RnnOptions) -> Any:
    """The output of a recurrent layer, with the states if it returns them."""
    x, initial = next(iter(flat_tensors(call.sequences))), call.states(options)
    mask = None if x.mask is None else b.cast(x.mask, BOOL)
    if b.version.major >= 3 and initial and call.mask is None:
        mask = None  # Keras 3 passes the mask of a tensor only to calls that have no other tensors
    sequence = x if options.time_major else _swap(b, x)
    if mask is not None and not options.time_major:
        mask = _swap(b, mask)
    if options.go_backwards:
        sequence = reverse(b, sequence, 0)
        mask = None if mask is None else reverse(b, mask, 0)
    states = initial or _zero_states(b, sequence, cell)
    if len(states) != len(cell.states):
        raise b.refuse(f"it has {len(cell.states)} states, and is called with {len(states)}")
    output, states = _run(b, sequence, mask, states, cell, options, from_zeros=not initial)
    if options.return_sequences:
        output = output if options.time_major else _swap(b, output)
        output = output.with_mask(x.mask)
    return [output, *states] if options.return_state else output


def _zero_states(b: LayerBuilder, sequence: LayerTensor, cell: Cell) -> Tensors:
    batch = sizes(b, sequence)[1]
    tensors: dict[Dims, LayerTensor] = {}
    for dims in cell.states:
        if dims not in tensors:
            tensors[dims] = zeros(b, (batch, *dims), sequence.dtype)
    return [LayerTensor(tensors[dims].value, (sequence.shape[1], *dims)) for dims in cell.states]


def _run(
    b: LayerBuilder, sequence: LayerTensor, mask: LayerTensor | None, states: Tensors, cell: Cell,
    options: RnnOptions, *, from_zeros: bool,
) -> tuple[LayerTensor, Tensors]:  # fmt: skip
    """The output, of all steps or the last, and the states after the last step."""
    collect = int(options.return_sequences)
    if mask is None:

        def step(_: LayerTensor, rows: Tensors, states: Tensors) -> tuple[Tensors, Tensors]:
            output, after = cell.step(rows[0], states)
            return [output] * collect, after

        outputs, last = over_time(b, step, [sequence], states, collect, b.dtype)
        return outputs[0] if collect else last[cell.output], last
    shown = _MaskedOutput(b, cell, options, from_zeros)

    def masked_step(_: LayerTensor, rows: Tensors, before: Tensors) -> tuple[Tensors, Tensors]:
        row, live = rows
        output, new = cell.step(row, before[: len(states)])
        after = [_where(b, live, n, old) for n, old in zip(new, before, strict=False)]
        output, carried = shown.of(live, output, before, after)
        return [output] * collect, [*after, *carried]

    if mask.rank != 2:
        raise b.refuse(f"its mask has the rank {mask.rank}; expected a mask of (batch, time)")
    start = [*states, *shown.initial(states)]
    outputs, last = over_time(b, masked_step, [sequence, mask], start, collect, b.dtype)
    if collect:
        return outputs[0], last[: len(states)]
    return last[len(states) if shown.is_carried else cell.output], last[: len(states)]


class _MaskedOutput:
    """What a masked step returns: zeros, the output of the step before, or a state."""

    def __init__(self, b: LayerBuilder, cell: Cell, options: RnnOptions, from_zeros: bool) -> None:
        self.b, self.cell, self.zero = b, cell, options.zero_output_for_mask
        version = b.version
        self.old = not version.is_tensorflow and version < REPEATS_STATE_BEFORE and not options.unroll
        repeats = self.old or from_zeros  # the output before the first step is zeros, and so is the state
        if self.zero:
            self.is_carried = not options.return_sequences
        else:
            self.is_carried = not repeats or (self.old and cell.output != 0)

    def initial(self, states: Tensors) -> Tensors:
        """What the loop carries besides the states."""
        output = states[self.cell.output]
        return [self.b.ZerosLike(output)] if self.is_carried else []

    def of(
        self, live: LayerTensor, output: LayerTensor, before: Tensors, after: Tensors
    ) -> tuple[LayerTensor, Tensors]:
        """The output of a step, and what is carried to the next."""
        if self.zero:
            output = _where(self.b, live, output, self.b.ZerosLike(output))
        elif self.is_carried:
            output = _where(self.b, live, output, before[0 if self.old else -1])
        else:
            output = after[self.cell.output]
        return output, [output] if self.is_carried else []


def _where(b: LayerBuilder, live: LayerTensor, x: LayerTensor, y: LayerTensor) -> LayerTensor:
    """Rows of `x` where the sequence is not masked, else of `y`."""
    return b.Select(live, x, y)


def _swap(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    """From (batch, time, …) to (time, batch, …), or back."""
    return transpose(b, x, (1, 0, *range(2, x.rank)))
