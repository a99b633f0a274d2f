import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, i32, numbers

T, B, C = 6, 3, 4
LOGITS = numbers(T, B, C, low=-3, high=3)


def greedy(inputs=LOGITS, lengths=(6, 4, 0), **attrs):
    return case("CTCGreedyDecoder", inputs, i32(*lengths), **attrs)


def beam(inputs=LOGITS, lengths=(6, 4, 1), **attrs):
    return case("CTCBeamSearchDecoder", inputs, i32(*lengths), **attrs)


def loss(labels, inputs=LOGITS, lengths=(6, 5, 4), **attrs):
    positions = [(b, i) for b, row in enumerate(labels) for i in range(len(row))]
    values = [label for row in labels for label in row]
    indices = np.array(positions, np.int64).reshape(-1, 2)
    return case("CTCLoss", inputs, indices, i32(*values), i32(*lengths), **attrs)


REPEATED = np.repeat(LOGITS, 2, axis=0)
CASES = [
    greedy(), greedy(merge_repeated=True), greedy(REPEATED, (12, 7, 3), merge_repeated=True),
    greedy(merge_repeated=False, blank_index=0), greedy(blank_index=-3), greedy(blank_index=4, fails=True),
    greedy(lengths=(7, 1, 1), fails=True), greedy(lengths=(1, 1), fails=True),
    greedy(LOGITS[:0], (0, 0, 0), fails=True), greedy(LOGITS[:, :0], (), fails=True),
    beam(LOGITS[:0], (0, 0, 0), beam_width=2, top_paths=1, fails=True),
    greedy(LOGITS.astype(np.float64)), greedy(np.zeros((T, B, C), np.float32)),
    beam(beam_width=10, top_paths=1), beam(beam_width=10, top_paths=3, merge_repeated=False),
    beam(beam_width=2, top_paths=2), beam(beam_width=1, top_paths=2, fails=True),
    beam(REPEATED, (12, 9, 5), beam_width=5, top_paths=4, merge_repeated=True),
    beam(REPEATED, (12, 9, 5), beam_width=5, top_paths=4, merge_repeated=False),
    # TensorFlow adds logarithms in float32 for all dtypes
    beam(LOGITS.astype(np.float64), beam_width=4, top_paths=2, merge_repeated=False, rtol=1e-6),
    loss([[0, 1], [2], [1, 0, 2]]), loss([[0, 0], [2, 2], [1]]), loss([[], [1], []], fails=True),
    loss([[0, 0, 1], [2, 2], [1, 1]], preprocess_collapse_repeated=True),
    loss([[0, 0], [2, 2], [1, 1]], ctc_merge_repeated=False),
    loss([[0, 0], [2, 2], [1, 1]], preprocess_collapse_repeated=True, ctc_merge_repeated=False),
    loss([[0, 1, 0, 1, 0, 1, 2], [2], [1]], fails=True),
    loss([[0, 0, 0, 0], [2], [1]], lengths=(6, 5, 4)),
    loss([[0, 1, 0, 1, 0, 1, 2], [2], [1]], ignore_longer_outputs_than_inputs=True),
    loss([[0, 0, 0, 0], [2], [1]], ignore_longer_outputs_than_inputs=True),
    loss([[0, 3, 3], [2], [1]]), loss([[3, 0], [2], [1]], fails=True),
    loss([[-1], [2], [1]], fails=True),
    loss([[0], [2], [1]], lengths=(6, 5, 9), fails=True),
    loss([[0], [2], [1]], lengths=(6, 0, 3), fails=True),
    loss([[0], [2], [1]], lengths=(6, 0, 3), ignore_longer_outputs_than_inputs=True),
    loss([[0], [2], [1]], LOGITS.astype(np.float64), rtol=1e-6),
]  # fmt: skip


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_ctc(c, ways):
    check("ctc", c, ways)
