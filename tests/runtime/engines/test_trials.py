"""Contenders must agree on several inputs; for models that enlarge rounding errors, as far as these allow."""

import numpy as np
import pytest

import tfport
from tfport.runtime.engines.race import MOST, Trials, next_to

X = np.linspace(1, 2, 64, dtype=np.float32)


def double(arrays):
    return [2 * arrays[0]]


def enlarging(arrays):
    """The last bits of the inputs decide on about 1e-4 of the answer."""
    return [np.float32(1) + np.float32(1000) * (arrays[0] - arrays[0].round(2))]


def chaotic(arrays):
    """The last bits of the inputs decide on all."""
    return [arrays[0].view(np.int32) % 2 * np.float32(1)]


def shifted(run, part):
    """Answers that differ by a part of the largest one."""

    def other(arrays):
        (answer,) = run(arrays)
        return [answer + np.float32(part) * np.abs(answer).max()]

    return other


@pytest.mark.parametrize(
    ("run", "part", "accepted"),
    [
        (double, 0, True),
        (double, 5e-6, True),
        (double, 1e-4, False),
        (enlarging, 2e-5, True),
        (enlarging, 1e-2, False),
        (chaotic, 0.9 * MOST, True),
        (chaotic, 2 * MOST, False),
    ],
)
def test_how_much_may_differ(run, part, accepted):
    trials = Trials(run, [X], run([X]))
    assert trials.accept(shifted(run, part)) == accepted
    assert trials.accept_again(shifted(run, part)) == accepted


def test_each_answer_has_its_own_tolerance():
    def two(arrays):
        return [*double(arrays), *enlarging(arrays)]

    trials = Trials(two, [X], two([X]))
    parts = [(9e-6, 2e-5, True), (1e-4, 0, False)]
    for first, second, accepted in parts:
        contender = [shifted(double, first), shifted(enlarging, second)]
        assert trials.accept(lambda arrays, c=contender: [run(arrays)[0] for run in c]) == accepted


def test_rounding_within_counts_where_the_inputs_have_none():
    """An image of integers: a network that enlarges rounding errors shows it only if it rounds otherwise."""
    image, weights = np.arange(64, dtype=np.int32), np.full(64, 1 / 3, np.float32)

    def network(weights):
        return lambda arrays: [np.float32(1) + 1000 * (arrays[0] * weights - arrays[0] / 3)]

    run = network(weights)
    other = shifted(run, 1e-4)
    assert not Trials(run, [image], run([image])).accept(other)
    trials = Trials(run, [image], run([image]), lambda number: network(next_to(weights, number)))
    assert trials.accept(other)
    assert trials.accept_again(other)
    assert not trials.accept(shifted(run, 1e-1))


def test_each_trial_has_its_own_tolerance():
    """What is chaotic for numbers in order is not so for those of the call."""

    def run(arrays):
        in_order = (np.diff(arrays[0]) >= 0).all()
        return chaotic(arrays) if in_order else double(arrays)

    x = X[::-1].copy()
    assert not Trials(run, [x], run([x])).accept(shifted(run, 1e-3))


def test_what_becomes_infinite_is_no_measure():
    def run(arrays):
        return [np.append(2 * arrays[0], np.float32(0))]

    def nearby(_number):
        return lambda arrays: [np.append(2 * arrays[0], np.float32(np.inf))]

    assert not Trials(run, [X], run([X]), nearby).accept(shifted(run, 1e-3))


def test_integers_must_be_equal_whatever_the_last_bits_do():
    def rounded(arrays):
        return [arrays[0].view(np.int32) % 2]

    assert not Trials(rounded, [X], rounded([X])).accept(lambda arrays: [1 - rounded(arrays)[0]])


def test_variations_count():
    def wrong_for_negative_numbers(arrays):
        return [np.maximum(2 * arrays[0], 0)]

    trials = Trials(double, [X], double([X]))
    assert not trials.accept(wrong_for_negative_numbers)
    assert trials.accept_again(wrong_for_negative_numbers)


def test_a_run_that_is_stopped_is_not_a_refusal():
    def stopped(arrays):
        raise tfport.DeadlineExceeded("late")

    with pytest.raises(tfport.DeadlineExceeded):
        Trials(stopped, [X], double([X])).accept(double)
