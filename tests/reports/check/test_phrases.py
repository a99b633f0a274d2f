import pytest
from tests.reports.check.reports import fails, report, runs, target, unregistered

from tfport.reports.check.phrases import grouped_findings, names_of

NAMES = [  # of                       among                                     are called
    ("1.12.3", "1.12.3 1.13.2", "tensorflow 1.12.3"),
    ("1.12.3 1.13.2", "1.12.3 1.13.2", "tensorflow 1.12.3, 1.13.2"),
    ("1.11.0 1.12.3 1.13.2", "1.11.0 1.12.3 1.13.2 1.14.0", "tensorflow 1.11.0 to 1.13.2"),
    ("1.11.0 1.12.3 1.14.0", "1.11.0 1.12.3 1.13.2 1.14.0", "tensorflow 1.11.0, 1.12.3, 1.14.0"),
    ("1.13.2 1.12.3 1.11.0", "1.13.2 1.12.3 1.11.0", "tensorflow 1.13.2, 1.12.3, 1.11.0"),
    ("1.9.0 1.10.1 1.11.0 1.14.0", "1.9.0 1.10.1 1.11.0 1.13.2 1.14.0", "tensorflow 1.9.0 to 1.11.0, 1.14.0"),
]


@pytest.mark.parametrize(("some", "order", "called"), NAMES)
def test_consecutive_targets_are_named_by_the_first_and_the_last(some, order, called):
    targets = {version: target(version) for version in order.split()}
    assert names_of([targets[version] for version in some.split()], list(targets.values())) == called


def test_targets_of_other_packages_are_named_in_full():
    order = [target("2.8.4 tensorflow-text==2.8.2"), target("2.8.4"), target("2.9.3"), target("2.10.1")]
    assert names_of(order, order) == ("tensorflow 2.8.4 + tensorflow-text 2.8.2, tensorflow 2.8.4 to 2.10.1")


def test_a_finding_on_several_targets_is_grouped():
    on = [target(version) for version in ("1.11.0", "1.12.3", "1.13.2")]
    (group,) = grouped_findings(report(*(fails(t, unregistered(t)) for t in on), runs(target("1.14.0"))))
    assert group.message == "op `BatchMatMulV2` is not registered in tensorflow 1.11.0 to 1.13.2"
    assert group.cause == "registered since 1.14.0; only BatchMatMul in tensorflow 1.11.0 to 1.13.2"
    assert group.stages() == {"load": ["python", "serving"]}


def test_stages_and_loaders_are_kept():
    on = target("2.8.4")
    (group,) = grouped_findings(
        report(
            runs(on, unregistered(on, stage=None), loaders=("serving",)),
            fails(on, unregistered(on), loaders=("python",)),
        )
    )
    assert group.severity == "error"
    assert group.stages() == {"load": ["python"], None: ["serving"]}
    assert group.signatures == ["serving_default"]


def test_errors_come_before_notes():
    on = target("1.13.2")
    groups = grouped_findings(report(fails(on, unregistered(on, "Lost", stage=None), unregistered(on))))
    assert [group.severity for group in groups] == ["error", "note"]
