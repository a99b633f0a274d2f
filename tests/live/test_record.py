"""Recording the installed TensorFlow gives the build in the atlas."""

import platform
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from tfport.atlas.atlas import X86, atlas
from tfport.atlas.record_target import record_target
from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.target_file import open_target_file

FOUND = find_spec("tensorflow")
pytestmark = pytest.mark.skipif(FOUND is None, reason="TensorFlow is not installed")


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    path = tmp_path_factory.mktemp("recorded") / "my.target"
    lines = []
    record_target(str(Path(FOUND.origin).parents[1]), str(path), notify=lines.append)
    assert "which runs code in it" in lines[0]
    return str(path)


def kernels(source, op):
    return sorted(map(repr, source.kernels(op)))


def test_it_registers_what_the_atlas_says(target):
    official = atlas().find("tensorflow", version("tensorflow"), platform.machine())
    if official is None:
        pytest.skip("not in the atlas")
    recorded = open_target_file(target)
    (build,) = recorded.builds(None, None)
    ours, theirs = recorded.source(build), atlas().source(official)
    assert (build.package, build.version) == ("tensorflow", version("tensorflow"))
    assert ours.ops() == theirs.ops()
    assert [op for op in theirs.ops() if ours.definition(op) != theirs.definition(op)] == []
    assert [op for op in theirs.ops() if kernels(ours, op) != kernels(theirs, op)] == []


def test_it_is_a_target(target):
    (resolved,) = resolve_targets(target)
    machine = "" if platform.machine() == X86 else f" ({platform.machine()})"
    name = f"tensorflow {version('tensorflow')}{machine} (my.target)"
    assert (resolved.name, resolved.kind) == (name, "recorded")
    assert "MatMul" in resolved.registry
    assert resolved.registry.kernels("MatMul")


def test_the_library_alone_has_the_same_ops(target, tmp_path):
    """Without the Python libraries a few ops are missing, as in a C++ program."""
    library = next(Path(FOUND.origin).parent.glob("libtensorflow_cc.so*"))
    alone = tmp_path / "alone.target"
    build = record_target(str(library), str(alone))
    assert build.wheel == library.name
    ours = set(open_target_file(str(alone)).source(build).ops())
    recorded = open_target_file(target)
    assert ours <= set(recorded.source(recorded.builds(None, None)[0]).ops())
    assert len(ours) > 1000
