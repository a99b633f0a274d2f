"""The recorded interpreters: what their binaries answered."""

import pytest

from tfport.atlas.lite.releases import (
    LITERT,
    TENSORFLOW,
    TFLITE_RUNTIME,
    first_release_with,
    flex_allow_list,
    lite_of_tensorflow,
    lite_release,
    lite_versions,
)
from tfport.atlas.resolve.targets import resolve_targets
from tfport.errors import Error

COUNTS = [  # package, version, builtin ops, pairs of op and version
    (TENSORFLOW, "2.4.4", 124, 264),
    (TFLITE_RUNTIME, "2.7.0", 142, 309),
    (TFLITE_RUNTIME, "2.14.0", 157, 366),
    (LITERT, "1.0.1", 169, 391),
    (LITERT, "2.1.2", 172, 411),
    (TENSORFLOW, "2.21.0", 172, 411),
    (LITERT, "2.3.0", 172, 440),
]


@pytest.mark.parametrize(("package", "version", "ops", "pairs"), COUNTS)
def test_numbers_of_ops(package, version, ops, pairs):
    registry = lite_release(package, version)
    assert len(registry.ops) == ops
    assert sum(map(len, registry.ops.values())) == pairs


VERSIONS = [
    ("FULLY_CONNECTED", [9, 10, 13, 14]),
    ("CONV_2D", [5, 7, 8, 8]),
    ("CAST", [2, 5, 6, 9]),
    ("BROADCAST_TO", [3, 3, 3, 4]),
]


@pytest.mark.parametrize(("op", "newest"), VERSIONS)
def test_newest_versions(op, newest):
    releases = [(TFLITE_RUNTIME, "2.7.0"), (TFLITE_RUNTIME, "2.14.0"), (LITERT, "1.0.1"), (LITERT, "2.3.0")]
    assert [max(lite_release(*release).versions(op)) for release in releases] == newest


def test_broadcast_to_has_no_version_1():
    assert lite_release(LITERT, "2.3.0").versions("BROADCAST_TO") == {2, 3, 4}


@pytest.mark.parametrize("package", [TFLITE_RUNTIME, LITERT, TENSORFLOW])
def test_what_is_lost_from_one_release_to_the_next(package):
    lost, before = [], {}
    for release in lite_versions(package):
        now = lite_release(package, release)
        lost += [(release, op, v) for op, versions in before.items() for v in versions - now.versions(op)]
        before = now.ops
    # 2.0 was branched before 1.15, and 2.5 does not have what 2.4 had got late
    known = [("2.0.0", "DEPTH_TO_SPACE", 1), ("2.0.0", "FULLY_CONNECTED", 6), ("2.5.0", "ADD", 4)]
    assert sorted(lost) == (known if package == TENSORFLOW else [])


def test_how_many_releases_are_recorded():
    assert len(lite_versions(TFLITE_RUNTIME)) == 8
    assert len(lite_versions(LITERT)) == 19
    assert len({version.rpartition(".")[0] for version in lite_versions(TENSORFLOW)} - {"2.15.0"}) == 26


def test_delegates():
    has_flex = {v.rpartition(".")[0] for v in lite_versions(TENSORFLOW) if "flex" in _tf(v).delegates}
    has_xnnpack = [v for v in lite_versions(TENSORFLOW) if "xnnpack" in _tf(v).delegates]
    assert has_flex - {"2.15.0"} == {f"2.{minor}" for minor in range(3, 19)}
    assert has_xnnpack[0] == "2.8.0"
    assert lite_release(TFLITE_RUNTIME, "2.14.0").delegated == frozenset()
    assert "Convolution2DTransposeBias" in lite_release(LITERT, "1.0.1").delegated


def _tf(version):
    return lite_release(TENSORFLOW, version)


@pytest.mark.parametrize(("version", "count"), [("2.21.0", 744), ("2.4.0", 631)])
def test_flex_allow_lists(version, count):
    assert len(flex_allow_list(version)) == count


def test_first_releases():
    assert first_release_with("GELU", 1) == (
        "tflite-runtime 2.8.0",
        "ai-edge-litert 1.0.0",
        "tensorflow 2.8.0",
    )
    assert first_release_with("CONV_2D", 99) == ()


def test_the_interpreter_of_a_tensorflow():
    assert lite_of_tensorflow("2.21.0").name == "tensorflow 2.21.0"
    assert lite_of_tensorflow("1.4.1") is None


TARGETS = [
    ("tflite-runtime==2.14.0", ["tflite-runtime==2.14.0"]),
    ("tflite-runtime==2.14", ["tflite-runtime==2.14.0"]),
    ("ai_edge_litert", ["ai-edge-litert==2.3.0"]),
    ("ai-edge-litert>=2.1.6,<2.3", ["ai-edge-litert==2.1.6", "ai-edge-litert==2.2.0"]),
]


@pytest.mark.parametrize(("text", "requirements"), TARGETS)
def test_targets(text, requirements):
    targets = resolve_targets(text)
    assert [target.requirement for target in targets] == requirements
    assert {target.kind for target in targets} == {"lite"}


def test_a_requirements_file_names_the_interpreter(tmp_path):
    listed = tmp_path / "requirements.txt"
    listed.write_text("numpy\ntflite-runtime==2.13.0\n")
    (alone,) = resolve_targets(str(listed))
    assert (alone.kind, alone.lite.name) == ("lite", "tflite-runtime 2.13.0")
    listed.write_text("tensorflow==2.8.4\ntflite-runtime==2.13.0\n")
    (beside,) = resolve_targets(str(listed))
    assert (beside.kind, beside.lite.name) == ("tensorflow", "tflite-runtime 2.13.0")


def test_an_unrecorded_release_is_refused():
    with pytest.raises(Error, match=r"tflite-runtime 2\.6\.0 is not recorded; nearest: 2\.7\.0"):
        resolve_targets("tflite-runtime==2.6.0")
