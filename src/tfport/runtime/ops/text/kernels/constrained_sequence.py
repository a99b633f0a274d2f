"""ConstrainedSequence: the best states of a sequence, where some transitions cost or are not allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ERROR = -1
_LOWEST = np.finfo(np.float32).min


@dataclass(frozen=True, slots=True)
class Transitions:
    """What a transition from one state (row) to another costs, and whether it is allowed.

    With an outer state, the last row and column are the beginning and the end of the sequence.
    """

    allowed: NDArray[Any] | None
    weights: NDArray[Any] | None
    logarithmic: bool
    outer: bool

    def weighed(self, scores: NDArray[Any], *index: Any) -> NDArray[Any]:
        """The scores with the weights of transitions."""
        return scores if self.weights is None else self.joined(scores, self.weights[index])

    def joined(self, scores: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
        sums: NDArray[Any] = scores + others if self.logarithmic else scores * others
        return sums.astype(np.float32)

    def is_allowed(self, *index: Any) -> Any:
        return True if self.allowed is None else self.allowed[index]


@host("ConstrainedSequence")
def constrained_sequence(
    scores, sequence_lengths, allowed_transitions, transition_weights,
    *, Tsplits, use_viterbi, use_log_space, use_start_and_end_states,
):  # fmt: skip
    if scores.ndim not in (2, 3):
        raise RunFailed(f"scores must have rank 2 or 3, found shape {list(scores.shape)}")
    batch = scores.reshape(-1, *scores.shape[-2:])
    lengths = sequence_lengths.reshape(-1).tolist()
    if len(lengths) != len(batch):
        raise RunFailed(f"found {len(lengths)} lengths for {len(batch)} sequences")
    if max(lengths, default=0) > batch.shape[1]:
        raise RunFailed(f"scores have {batch.shape[1]} steps, and a sequence has {max(lengths)}")
    size = scores.shape[-1] + use_start_and_end_states
    transitions = Transitions(
        _matrix(allowed_transitions, size, "allowed_transitions"),
        _matrix(transition_weights, size, "transition_weights"),
        use_log_space,
        use_start_and_end_states,
    )
    weights = transitions.weights
    if weights is not None and not use_log_space and not (weights >= 0).all():
        raise RunFailed("transition_weights must not be negative")
    best = _best_path if use_viterbi else _greedy_path
    with np.errstate(over="ignore", invalid="ignore"):
        rows = [
            best(row[:length], transitions) for row, length in zip(batch, lengths, strict=True) if length > 0
        ]
    states = np.concatenate([np.zeros(0, np.int32), *(np.array(row, np.int32) for row in rows)])
    return states, np.cumsum([0, *lengths]).astype(Tsplits.numpy)


def _matrix(array: NDArray[Any], size: int, name: str) -> NDArray[Any] | None:
    if not array.size:
        return None
    if array.shape != (size, size):
        raise RunFailed(f"{name} must have shape [{size}, {size}], found {list(array.shape)}")
    return array


def _last_best(scores: NDArray[Any], allowed: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """The last row with the largest score of each column, or an error; scores of -inf are none."""
    scores = np.where(allowed & (scores >= _LOWEST), scores, np.float32(-np.inf))
    best = len(scores) - 1 - np.argmax(scores[::-1], 0)
    score = np.take_along_axis(scores, best[None], 0)[0]
    possible = score >= _LOWEST
    return np.where(possible, best, _ERROR), np.where(possible, score, _LOWEST)


def _best_path(scores: NDArray[Any], transitions: Transitions) -> list[int]:
    """The Viterbi path. Sums and products are in float32, what is kept between steps in float64."""
    outside = scores.shape[1]
    first = np.full(outside, outside)
    current = scores[0].astype(np.float64)
    if transitions.outer:
        allowed = np.broadcast_to(transitions.is_allowed(outside, slice(outside)), outside)
        weighed = transitions.weighed(scores[0], outside, slice(outside)).astype(np.float64)
        current = np.where(allowed, weighed, np.float64(_LOWEST))
        first = np.where(allowed, outside, _ERROR)
    before = [first]
    current = _scaled(current, transitions)
    inner = (slice(outside), slice(outside))
    for step in scores[1:]:
        # [from, to]
        sums = transitions.weighed(transitions.joined(step[None], current[:, None]), *inner)
        possible = (before[-1] != _ERROR)[:, None] & transitions.is_allowed(*inner)
        source, best = _last_best(sums, possible)
        before.append(source)
        current = _scaled(best.astype(np.float64), transitions)
    final = current.astype(np.float32)
    possible = before[-1] != _ERROR
    if transitions.outer:
        final = transitions.weighed(final, slice(outside), outside)
        possible = possible & transitions.is_allowed(slice(outside), outside)
    state = int(_last_best(final[:, None], possible[:, None])[0][0])
    if state == _ERROR:
        return [_ERROR] * len(scores)
    path = []
    for source in reversed(before):
        path.append(state)
        state = int(source[state])
    return path[::-1]


def _scaled(scores: NDArray[Any], transitions: Transitions) -> NDArray[Any]:
    """Products become small: they are divided by the largest."""
    largest = scores.max()
    return scores / largest if not transitions.logarithmic and largest > 0 else scores


def _greedy_path(scores: NDArray[Any], transitions: Transitions) -> list[int]:
    outside = scores.shape[1]
    path: list[int] = []
    state = outside
    for number, step in enumerate(scores):
        allowed: Any = np.ones(outside, bool)
        if transitions.outer or number:
            allowed = allowed & transitions.is_allowed(state, slice(outside))
            step = transitions.weighed(step, state, slice(outside))
            if transitions.outer and number == len(scores) - 1:
                allowed = allowed & transitions.is_allowed(slice(outside), outside)
                step = transitions.weighed(step, slice(outside), outside)
        state = int(_last_best(step[:, None], allowed[:, None])[0][0])
        path.append(state)
        if state == _ERROR:
            return path + [_ERROR] * (len(scores) - len(path))
    return path
