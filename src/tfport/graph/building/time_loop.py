"""Run a step for each element of sequences, in the order of time: a TF1 loop with tensor arrays.

Every release of TensorFlow runs it, for any number of steps. What a step computes is up to the caller:
Keras layers apply masks, rules of `fix` stop at the lengths of sequences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfport.graph.building.node_builder import Dims, NodeBuilder, T
from tfport.graph.building.sizes import size_at
from tfport.graph.dtypes import DType
from tfport.graph.frame_loop import FrameLoop, OpenFrame, free_frame_name

Step = Callable[[T, list[T], list[T]], tuple[list[T], list[T]]]
"""From the number, the rows and the states of one step: what to collect, and the states after it."""


def over_time(
    b: NodeBuilder[T], step: Step[T], sequences: Sequence[T], states: Sequence[T], outputs: int, dtype: DType
) -> tuple[list[T], list[T]]:
    """Run a step for each row of the sequences, (time, …).

    Returns the collected tensors, (time, …), of which each step returns `outputs` of a dtype, and the
    states after the last step. A step may use tensors from outside; its constants are best added before.
    """
    shapes = [b.shape(rows) for rows in sequences]
    length = shapes[0][0] if shapes[0] else None
    count = size_at(b, sequences[0], 0) if length is None else length
    steps = b.node("Range", 0, count, 1)
    filled = []
    for rows in sequences:
        array = b.node("TensorArrayV3", count, dtype=b.value(rows).dtype.base)
        filled.append((array, b.node("TensorArrayScatterV3", array, steps, rows, array.output(1))))
    arrays = [b.node("TensorArrayV3", count, dtype=dtype) for _ in range(outputs)]
    loop = FrameLoop(b.node, free_frame_name(b.graph, f"{b.scope}/loop"), count)
    before = loop.start([*(b.value(state) for state in states), *(array.output(1) for array in arrays)])
    frame = OpenFrame(b, loop, [loop.index, *before])
    with frame.open():
        read = [
            b.tensor(
                b.node("TensorArrayReadV3", array, loop.index, flow, dtype=array.attr("dtype")),
                dims and dims[1:],
            )
            for (array, flow), dims in zip(filled, shapes, strict=True)
        ]
        inside = [b.tensor(value, b.shape(state)) for value, state in zip(before, states, strict=False)]
        collected, after = step(b.tensor(loop.index, ()), read, inside)
        flows = [
            b.node("TensorArrayWriteV3", array, loop.index, item, flow).output(0)
            for array, item, flow in zip(arrays, collected, before[len(states) :], strict=True)
        ]
        following = [frame.inside(b.value(state)) for state in after]
    last = loop.end([*following, *flows])
    gathered = []
    for array, flow, item in zip(arrays, last[len(states) :], collected, strict=True):
        dims = b.shape(item)
        node = b.node("TensorArrayGatherV3", array, steps, flow, dtype=dtype)
        gathered.append(b.tensor(node, None if dims is None else (length, *dims)))
    ends = zip(last, states, after, strict=False)
    return gathered, [b.tensor(value, _common(b.shape(old), b.shape(new))) for value, old, new in ends]


def _common(first: Dims | None, second: Dims | None) -> Dims | None:
    if first is None or second is None:
        return None
    return tuple(x if y is None else y for x, y in zip(first, second, strict=True))
