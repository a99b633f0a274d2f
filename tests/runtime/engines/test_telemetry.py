"""ONNX Runtime sends nothing: the variable that turns its telemetry off is set before it is imported."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
def watch(event, arguments):
    if event == "import" and arguments[0] == "onnxruntime":
        print(os.environ.get("ORT_DISABLE_TELEMETRY"))
sys.addaudithook(watch)
import numpy as np, tfport
model = tfport.load("tests/models/half_plus_two")
tfport.Session(model).signature("serving_default")(x=np.ones((1, 1), np.float32))
"""


@pytest.mark.parametrize(("wanted", "seen"), [(None, "1"), ("0", "0")])
def test_telemetry_is_off_unless_someone_wants_it(wanted, seen):
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    environment |= {"ORT_DISABLE_TELEMETRY": wanted} if wanted else {}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == [seen]
