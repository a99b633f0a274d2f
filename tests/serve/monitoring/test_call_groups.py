"""Calls are counted in groups, and none is lost."""

import threading
from collections import Counter

from tfport.serve.monitoring.metrics import GROUP, MOST_GROUPS, CallGroups


class Counted:
    """Counts what groups pass on."""

    def __init__(self):
        self.calls, self.sizes = Counter(), []
        self.groups = CallGroups(self.count)

    def count(self, reported, *labels):
        self.sizes.append(len(reported))
        for number in reported:
            self.calls[*labels, number] += 1


def test_a_full_group_is_counted_and_the_rest_on_request():
    counted = Counted()
    for number in range(GROUP + 1):
        counted.groups.add(("a", "b"), number)
    counted.groups.add(("c",), 0)
    assert counted.sizes == [GROUP]
    counted.groups.count_rest()
    counted.groups.count_rest()
    assert counted.sizes == [GROUP, 1, 1]
    assert counted.calls == Counter([*(("a", "b", number) for number in range(GROUP + 1)), ("c", 0)])


def test_labels_without_end_do_not_fill_the_memory():
    counted = Counted()
    for number in range(3 * MOST_GROUPS):
        counted.groups.add((str(number),), 0)
        assert len(counted.groups._groups) <= MOST_GROUPS
    counted.groups.count_rest()
    assert counted.calls == Counter((str(number), 0) for number in range(3 * MOST_GROUPS))


def test_no_call_of_several_threads_is_lost():
    counted, each = Counted(), 20 * GROUP + 3

    def report():
        for number in range(each):
            counted.groups.add(("a",), number)
            if number % 100 == 0:
                counted.groups.count_rest()

    threads = [threading.Thread(target=report) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted.groups.count_rest()
    assert counted.calls == Counter({("a", number): 4 for number in range(each)})
