"""Host steps run in order, each with its own inputs."""

import pytest

from tfport.errors import RunCancelled
from tfport.runtime.bounds.run_scope import bounded
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.runtime.host_loop import HostCall, host_loop


def values_of(calls, inputs, count, constants=()):
    loop = host_loop(calls, len(inputs), count, constants)
    return loop(inputs)[:count]


def test_steps_read_values_and_constants():
    calls = [
        HostCall(lambda a: [a[0] + a[1]], [0, -1], [1]),
        HostCall(lambda a: [a[0]], [-2], [2]),
        HostCall(lambda a: (a[0] * 2,), [1], [3]),
        HostCall(lambda a: [len(a)], [], [4]),
    ]
    assert values_of(calls, [1], 5, [10, 100]) == [1, 101, 10, 202, 0]


def test_several_outputs_and_none():
    ran = []
    calls = [
        HostCall(lambda a: (a[0], a[0] + 1), [0], [1, 2]),
        HostCall(lambda a: ran.append(list(a)) or [], [1, 2], []),
    ]
    assert values_of(calls, [5], 3) == [5, 5, 6]
    assert ran == [[5, 6]]


def test_an_output_that_is_a_constant_is_not_stored():
    calls = [HostCall(lambda a: [7], [0], [-1]), HostCall(lambda a: [a[0]], [-1], [1])]
    assert values_of(calls, [1], 2, ["constant"]) == [1, "constant"]


@pytest.mark.parametrize("outputs", [[], [1, 2]])
@pytest.mark.parametrize("writes", [[1], [1, 2, 3]])
def test_another_number_of_outputs_is_an_error(outputs, writes):
    with pytest.raises(ValueError, match=r"unpack|zip"):
        values_of([HostCall(lambda a: outputs, [0], writes)], [1], 4)


def test_a_stop_ends_the_loop_before_the_next_step():
    signal, ran = StopSignal(), []
    calls = [
        HostCall(lambda a: [signal.stop(RunCancelled("enough"))], [0], [1]),
        HostCall(lambda a: [ran.append(1)], [0], [2]),
    ]
    with pytest.raises(RunCancelled, match="enough"), bounded(signal):
        values_of(calls, [1], 3)
    assert not ran
