"""Repeat a computation over time steps: a TF1 loop, which every release of TensorFlow runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfport.frontends.keras.arrays import sizes
from tfport.frontends.keras.frame import OpenFrame
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import Dims, LayerTensor
from tfport.graph.frame_loop import FrameLoop, free_frame_name

Tensors = list[LayerTensor]
Step = Callable[[Tensors, Tensors], tuple[Tensors, Tensors]]
"""From the rows and the states of one step: what to collect, and the states after it."""


def over_time(
    b: LayerBuilder, step: Step, sequences: Sequence[LayerTensor], states: Sequence[LayerTensor], outputs: int
) -> tuple[Tensors, Tensors]:
    """Run a step for each row of the sequences, (time, batch, …), in order.

    Returns the collected tensors, (time, batch, …), of which each step returns `outputs`, and the states
    after the last step.
    """
    count = sizes(b, sequences[0])[0]
    places = b.node("Range", 0, count, 1)
    filled = []
    for rows in sequences:
        array = b.node("TensorArrayV3", count, dtype=rows.dtype)
        filled.append((array, b.node("TensorArrayScatterV3", array, places, rows, array.output(1))))
    made = [b.node("TensorArrayV3", count, dtype=b.dtype) for _ in range(outputs)]
    loop = FrameLoop(b.node, free_frame_name(b.model.graph, f"{b.scope}/loop"), count)
    before = loop.start([*(state.value for state in states), *(array.output(1) for array in made)])
    frame = OpenFrame(b.model, loop, [loop.index, *before])
    with frame.open():
        read = [
            b.tensor(b.node("TensorArrayReadV3", array, loop.index, flow, dtype=rows.dtype), rows.shape[1:])
            for (array, flow), rows in zip(filled, sequences, strict=True)
        ]
        inside = [b.tensor(value, s.shape) for value, s in zip(before, states, strict=False)]
        collected, after = step(read, inside)
        flows = [
            b.node("TensorArrayWriteV3", array, loop.index, item, flow).output(0)
            for array, item, flow in zip(made, collected, before[len(states) :], strict=True)
        ]
        following = [frame.inside(state.value) for state in after]
    last = loop.end([*following, *flows])
    gathered = []
    for array, flow, item in zip(made, last[len(states) :], collected, strict=True):
        node = b.node("TensorArrayGatherV3", array, places, flow, dtype=b.dtype)
        gathered.append(b.tensor(node, (sequences[0].shape[0], *item.shape)))
    return gathered, [
        b.tensor(v, _common(s.shape, a.shape)) for v, s, a in zip(last, states, after, strict=False)
    ]


def _common(first: Dims, second: Dims) -> Dims:
    return tuple(x if y is None else y for x, y in zip(first, second, strict=True))
