"""A decoder of beams, and the log probabilities that real releases answer.

Recorded by tools/truth/rewrites/ctc_probabilities.py; the decoded paths are the same in all of them.
"""

import numpy as np

DECODER = """
x = Placeholder() {dtype=float32, shape=(?, ?, 5)}
lengths = Placeholder() {dtype=int32, shape=(?,)}
d = CTCBeamSearchDecoder(x, lengths) {beam_width=8, top_paths=2, merge_repeated=false}
"""
FETCHES = tuple(f"d:{i}" for i in range(7))
LOG_PROBABILITY = "d:6"
LOGITS = (2 * np.random.RandomState(0).randn(6, 3, 5)).astype(np.float32)
LENGTHS = np.int32([6, 4, 1])
UNTIL_1_10 = np.float32([[0.50886518, -0.111369], [0.3954736, 0.05394598], [0.0, -1.3864715]])
"""1.3.0, 1.4.1, 1.5.0, 1.6.0, 1.7.0, 1.8.0, 1.9.0, 1.10.1."""
SINCE_1_11 = np.float32([[-2.560128, -3.180362], [-1.4760388, -1.8175664], [-0.42190099, -1.8083725]])
"""1.11.0, 1.12.3; and the graph rewritten for 1.4.1 in 1.4.1, 1.8.0, 1.10.1, 1.11.0 and 1.12.3."""
