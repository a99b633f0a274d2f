"""TensorFlow and tfport in one process, imported in either order: each has its own messages."""

import subprocess
import sys

import pytest
from tests.recorded_models import EXPECTED, path_of

IMPORTS = {"tensorflow": "import tensorflow as tf", "tfport": "import tfport; tfport.load(path)"}
BOTH = """
import sys
path = sys.argv[1]
{first}
{second}
from tensorflow.core.protobuf import saved_model_pb2
with open(path + "/saved_model.pb", "rb") as file:
    theirs = saved_model_pb2.SavedModel.FromString(file.read()).meta_graphs[0].graph_def
ours = tfport.load(path).graph
assert [n.name for n in theirs.node] == [n.name for n in ours]
tf.saved_model.load(path)
print(len(theirs.node))
"""


@pytest.mark.parametrize("first", IMPORTS)
def test_both_read_the_same_model(first):
    [second] = IMPORTS.keys() - {first}
    code = BOTH.format(first=IMPORTS[first], second=IMPORTS[second])
    done = subprocess.run(
        [sys.executable, "-c", code, path_of("module")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) == sum(EXPECTED["module"]["graphs"][0]["main"]["ops"].values())
