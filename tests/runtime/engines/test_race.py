"""Races: the fastest contender wins if its answers are the same."""

import time
import weakref

import numpy as np
import pytest

import tfport
from tfport.runtime.engines.choice_cache import Choice
from tfport.runtime.engines.race import best_times, fastest

USUAL, SINGLE, OTHER = Choice("onnxruntime", 2), Choice("onnxruntime", 1), Choice("openvino", 2)
X = np.float32([1, 2])


def double(arrays):
    return [2 * arrays[0]]


def wrong(arrays):
    return [2.001 * arrays[0]]


def refused(arrays):
    raise tfport.Error("not supported")


def stopped(arrays):
    raise tfport.DeadlineExceeded("late")


def race(runs, seconds):
    def times(first, second, _arrays):
        return seconds[first], seconds[second]

    keys = [choice for choice in runs if choice != USUAL]
    choice, run = fastest(runs.__getitem__, runs[USUAL], USUAL, keys, [X], double([X]), times=times)
    assert run is runs[choice]
    return choice


def contender():
    return lambda arrays: double(arrays)


def test_the_fastest_wins():
    runs = {USUAL: contender(), SINGLE: contender(), OTHER: contender()}
    assert race(runs, dict(zip(runs.values(), (1.0, 0.8, 0.5), strict=True))) == OTHER
    assert race(runs, dict(zip(runs.values(), (1.0, 0.5, 0.48), strict=True))) == SINGLE


def test_the_faster_of_two_other_engines_wins():
    third = Choice("litert", 2)
    runs = {USUAL: contender(), OTHER: contender(), third: contender()}
    assert race(runs, dict(zip(runs.values(), (1.0, 0.5, 0.48), strict=True))) == third
    assert race(runs, dict(zip(runs.values(), (1.0, 0.48, 0.5), strict=True))) == OTHER


def test_more_threads_must_be_clearly_faster():
    more = Choice("openvino", 4)
    runs = {USUAL: contender(), OTHER: contender(), more: contender()}
    assert race(runs, dict(zip(runs.values(), (1.0, 0.5, 0.48), strict=True))) == OTHER


def test_one_rival_is_in_memory_at_a_time():
    alive = []

    def compiled_by(choice):
        assert not [made for made in alive if made() is not None]
        made = contender()
        alive.append(weakref.ref(made))
        return made

    def times(first, second, _arrays):
        return 1.0, 0.5

    choice, run = fastest(compiled_by, contender(), USUAL, [OTHER, SINGLE], [X], double([X]), times=times)
    assert choice == OTHER
    assert len(alive) == 3
    assert run is alive[-1]()


def test_what_is_usual_stays_if_both_are_about_as_fast():
    runs = {USUAL: contender(), OTHER: contender()}
    assert race(runs, dict(zip(runs.values(), (1.0, 0.95), strict=True))) == USUAL


def wrong_for_negative_numbers(arrays):
    return [np.maximum(2 * arrays[0], 0)]


def only_for_positive_numbers(arrays):
    if arrays[0].min() < 0:
        raise tfport.RunFailed("negative")
    return double(arrays)


@pytest.mark.parametrize("loser", [wrong, refused, wrong_for_negative_numbers])
def test_other_answers_and_errors_never_win(loser):
    runs = {USUAL: contender(), OTHER: loser}
    assert race(runs, {runs[USUAL]: 1.0, loser: 0.1}) == USUAL


def test_variations_that_the_usual_one_refuses_are_not_compared():
    usual, other = only_for_positive_numbers, wrong_for_negative_numbers
    assert race({USUAL: usual, OTHER: other}, {usual: 1.0, other: 0.1}) == OTHER


def test_a_run_that_is_stopped_decides_nothing():
    with pytest.raises(tfport.DeadlineExceeded):
        race({USUAL: contender(), OTHER: stopped}, {})


def test_both_contenders_are_measured():
    calls = []
    first, second = best_times(
        lambda arrays: calls.append("first"), lambda arrays: calls.append("second"), [X]
    )
    assert calls[:4] == ["first", "first", "second", "second"]
    assert 0 <= first < float("inf")
    assert 0 <= second < float("inf")


def test_threads_decide_what_is_measured(monkeypatch):
    clocks = []

    def measured(first, second, _arrays, clock):
        clocks.append(clock)
        return 1.0, 1.0

    monkeypatch.setattr("tfport.runtime.engines.race.best_times", measured)
    for usual, rival in ((1, 1), (2, 1), (2, 2)):
        rivals = [Choice("litert", rival)]
        fastest(lambda _: double, double, Choice("onnxruntime", usual), rivals, [X], double([X]))
    assert clocks == [time.process_time, time.perf_counter, time.perf_counter]
