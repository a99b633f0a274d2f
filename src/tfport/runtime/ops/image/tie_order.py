"""The order of equal scores in the heap and the sort of GNU's C++ standard library.

TensorFlow takes candidates from a heap and sorts the selected ones; neither is stable. The order
of equal scores therefore depends on the algorithms of the library, which are repeated here. If all
scores differ, any sort gives the same result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def are_distinct(scores: Any) -> bool:
    """Whether no two scores are equal."""
    return len(np.unique(scores)) == len(scores)


def popped(scores: Any) -> Iterator[int]:
    """The indices of scores in the order in which a heap returns them, best first."""
    values = scores.tolist()
    heap: list[int] = []
    for i, value in enumerate(values):
        heap.append(i)
        if i and values[heap[(i - 1) // 2]] < value:
            _sift_up(heap, values, i, i)
    while heap:
        yield _pop(heap, values)


def _sift_up(heap: list[int], values: list[float], hole: int, index: int) -> None:
    while hole and values[heap[(hole - 1) // 2]] < values[index]:
        heap[hole] = heap[(hole - 1) // 2]
        hole = (hole - 1) // 2
    heap[hole] = index


def _pop(heap: list[int], values: list[float]) -> int:
    top, last = heap[0], heap.pop()
    size = len(heap)
    if not size:
        return top
    hole, child = 0, 2
    while child < size:  # the hole moves down to a leaf along the better children; the last element fills it
        if values[heap[child]] < values[heap[child - 1]]:
            child -= 1
        heap[hole] = heap[child]
        hole, child = child, 2 * child + 2
    if child == size:
        heap[hole] = heap[child - 1]
        hole = child - 1
    _sift_up(heap, values, hole, last)
    return top


INSERTION_SIZE = 16
"""Ranges of at most this many elements are left to the insertion sort."""


def sorted_order(scores: Any) -> Any:
    """The indices of scores sorted best first: quick sort down to short ranges, then insertion sort."""
    finite = scores[np.isfinite(scores)]
    if are_distinct(finite):
        return np.argsort(-scores, kind="stable")
    values = scores.tolist()
    order = list(range(len(values)))
    _quick(order, values, 0, len(order))
    for i in range(1, len(order)):
        index, hole = order[i], i
        while hole and values[order[hole - 1]] < values[index]:
            order[hole] = order[hole - 1]
            hole -= 1
        order[hole] = index
    return np.array(order, np.int64)


def _quick(order: list[int], values: list[float], first: int, last: int) -> None:
    while last - first > INSERTION_SIZE:
        _median_first(order, values, first, first + (last - first) // 2, last - 1)
        pivot, low, high = values[order[first]], first + 1, last
        while True:
            while values[order[low]] > pivot:
                low += 1
            high -= 1
            while values[order[high]] < pivot:
                high -= 1
            if low >= high:
                break
            order[low], order[high] = order[high], order[low]
            low += 1
        _quick(order, values, low, last)
        last = low


def _median_first(order: list[int], values: list[float], first: int, middle: int, end: int) -> None:
    """Put the median of the second, the middle and the last element first."""
    second = first + 1
    a, b, c = values[order[second]], values[order[middle]], values[order[end]]
    if a > b:
        best = middle if b > c else end if a > c else second
    else:
        best = second if a > c else end if b > c else middle
    order[first], order[best] = order[best], order[first]
