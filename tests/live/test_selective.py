"""The header for models equals the one that TensorFlow's own tool writes."""

import platform
from pathlib import Path

import pytest

import tfport
from tfport.atlas.atlas import X86, atlas
from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.selective_registration import parse_header, squeeze, write_header
from tfport.formats.proto.saved_model_pb2 import SavedModel

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.skipif(
    atlas().find("tensorflow", tf.__version__) is None, reason=f"tensorflow {tf.__version__} is not recorded"
)
MODELS = Path(__file__).parents[1] / "models"
GRAPHS = [path for path in sorted(MODELS.rglob("*.pb")) if path.name in ("saved_model.pb", "graph.pb")]
HAS_GPU_KERNELS = platform.machine() == X86
PACKAGE = "tensorflow" if HAS_GPU_KERNELS else "tensorflow-aarch64"
MORE = {  # what the tool omits, but a build needs
    # placed on a device that may be missing; then it runs on the CPU
    "devices": {"AddV2"} if HAS_GPU_KERNELS else {"AddV2", "Exp"},
    "list_arguments": {"Pack"},  # in a generic function: the caller sets its type
}


def graph_def(path: Path, folder: Path) -> str:
    """Return the graph of a SavedModel, as the tool needs it."""
    if path.name == "graph.pb":
        return str(path)
    saved = SavedModel.FromString(path.read_bytes())
    if not saved.meta_graphs:
        pytest.skip("a model without a graph")
    file = folder / "graph.pb"
    file.write_bytes(saved.meta_graphs[0].graph_def.SerializeToString())
    return str(file)


def tool_writes(graph: str) -> str:
    from tensorflow.python.tools import selective_registration_header_lib as tool

    return tool.get_header([graph])


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: str(path.relative_to(MODELS).parent))
def test_ops_and_kernel_classes_are_those_of_the_tool(path, tmp_path):
    graph = graph_def(path, tmp_path)
    (target,) = resolve_targets(f"{PACKAGE}=={tf.__version__}")
    ours = parse_header(write_header([tfport.load(graph)], target.registry), "ours")
    theirs = parse_header(tool_writes(graph), "theirs")
    more = MORE.get(path.parent.name, set())
    assert ours.ops - theirs.ops == more
    assert theirs.ops <= ours.ops
    if not more:
        assert set(map(squeeze, ours.kernels)) == set(map(squeeze, theirs.kernels))
