from xml.etree import ElementTree

from tests.reports.check.reports import custom, fails, report, runs, target, unknown, unregistered

from tfport.reports.check import junit as report_junit


def suites(*parts) -> ElementTree.Element:
    return ElementTree.fromstring(report_junit.whole(list(parts), "check").encode())


def counts(element: ElementTree.Element) -> list[int]:
    return [int(element.get(name)) for name in ("tests", "failures", "errors", "skipped")]


def test_a_case_for_each_target_and_loader():
    old, new = target("1.13.2"), target("1.14.0")
    top = suites(
        report_junit.check_part(report(fails(old, unregistered(old)), runs(new))),
        report_junit.check_part(report(unknown(new, custom(new), loaders=("capi",)), model="b")),
        report_junit.unreadable("c", "c: empty"),
    )
    assert counts(top) == [6, 2, 1, 1]
    assert [(suite.get("name"), counts(suite)) for suite in top] == [
        ("export/1", [4, 2, 0, 0]),
        ("b", [1, 0, 0, 1]),
        ("c", [1, 0, 1, 0]),
    ]
    assert [case.get("name") for case in top[0]] == [
        "tensorflow==1.13.2 cpu python",
        "tensorflow==1.13.2 cpu serving",
        "tensorflow==1.14.0 cpu python",
        "tensorflow==1.14.0 cpu serving",
    ]
    failure = top[0][0].find("failure")
    assert failure.get("type") == "fails at load"
    assert "says: Op type not registered 'BatchMatMulV2'" in failure.text
    assert top[2][0].find("error").get("message") == "c: empty"


def test_characters_that_xml_does_not_allow_are_escaped():
    on = target("1.13.2")
    top = suites(report_junit.check_part(report(fails(on, unregistered(on, "a\x00<b>\udc80")), model="\x1b")))
    assert top[0].get("name") == "\\x1b"
    assert "op `a\\x00<b>\\udc80`" in top[0][0].find("failure").get("message")
