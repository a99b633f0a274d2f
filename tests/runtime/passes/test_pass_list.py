"""Each pass is declared once and listed once, and the log says what it did."""

from tfport.discovery import load_package
from tfport.runtime.passes import pass_list
from tfport.runtime.passes.pass_list import PassLog, all_passes, logging_passes


def test_every_declared_pass_is_listed_once():
    load_package("tfport.runtime.passes")
    assert sorted(pass_list._DECLARED.entries) == sorted(each.name for each in all_passes())


def test_every_pass_says_what_it_does():
    assert [each.name for each in all_passes() if not each.summary] == []


def test_the_log_counts_what_was_removed_and_added():
    log, (a, b, c) = PassLog(), (object(), object(), object())
    with logging_passes(log):
        current = pass_list.current_log()
        assert current is not None
        current.add("gelu", [a, b], [c])
        current.add("gelu", [a], [a])
    count = log.counts["gelu"]
    assert (count.graphs, count.removed, count.added) == (2, 2, 1)
    assert pass_list.current_log() is None
