"""Reasons that differ only in names are one line."""

from tfport.fix.result import grouped


def test_reasons_about_several_names_are_one():
    lists = [f"`list_{n}` is a list of lists" for n in range(3)]
    other = "the variables have 9 bytes"
    assert list(grouped([lists[0], other, *lists, other])) == [f"{lists[0]} (and 2 more)", other]
