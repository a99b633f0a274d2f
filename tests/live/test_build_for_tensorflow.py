"""`tfport lib build --for tensorflow==X` with the installed TensorFlow, which loads and runs the library."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tfport.cli.main import main
from tfport.runtime.native.compiler import COMPILERS

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.skipif(not any(map(shutil.which, COMPILERS)), reason="no C++ compiler")
SOURCE = str(Path(__file__).parent / "ops" / "acme_clip.cc")
RELEASE = f"tensorflow=={tf.__version__}"
RUN = """
import sys
import tensorflow as tf
module = tf.load_op_library(sys.argv[1])
print(module.acme_clip(tf.constant([0.5, 3.0]), most=2.0).numpy().tolist())
print(module.acme_clip(tf.constant([0.5, 3.0], tf.float64)).numpy().tolist())
try:
    module.acme_clip(tf.constant([1.0]), most=-1.0)
except tf.errors.InvalidArgumentError as error:
    print(error.message)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    path = tmp_path_factory.mktemp("built") / "acme_clip.so"
    assert main(["lib", "build", "--for", RELEASE, SOURCE, "-o", str(path)]) == 0
    return path


def test_the_release_loads_and_runs_what_was_built(built):
    done = subprocess.run([sys.executable, "-c", RUN, str(built)], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert lines[:2] == ["[0.5, 2.0]", "[0.5, 1.0]"], done.stderr
    assert "most is -1 in AcmeClip" in lines[2]


def test_it_says_what_it_registers(built, capsys):
    assert main(["lib", "show", str(built), "--json"]) == 0
    (library,) = json.loads(capsys.readouterr().out)["libraries"]
    assert library["for"] == "tensorflow"
    (op,) = library["registers"]["ops"]
    assert (op["name"], op["inputs"], op["outputs"]) == ("AcmeClip", ["x: T"], ["y: T"])
    assert [kernel["constraints"] for kernel in library["registers"]["kernels"]] == [
        {"T": ["float32"]},
        {"T": ["float64"]},
    ]


def test_the_flags_are_those_that_the_release_asks_for(capsys):
    assert main(["lib", "build", "--for", RELEASE, "--print-flags"]) == 0
    flags = capsys.readouterr().out.split()
    wanted = [*tf.sysconfig.get_compile_flags(), *tf.sysconfig.get_link_flags()]
    assert {flag.replace("--std", "-std") for flag in wanted} <= set(flags)


def test_the_other_abi_is_found_before_anyone_loads_it(tmp_path, capsys):
    path = tmp_path / "op.so"
    wrong = "--flag=-D_GLIBCXX_USE_CXX11_ABI=0"
    assert main(["lib", "build", "--for", RELEASE, SOURCE, "-o", str(path), wrong, "--flag=-O0"]) == 1
    output = capsys.readouterr().out
    assert "error[TFP421]" in output
    assert "_GLIBCXX_USE_CXX11_ABI=0" in output
    done = subprocess.run([sys.executable, "-c", RUN, str(path)], capture_output=True, text=True)
    assert "NotFoundError" in done.stderr
    assert "undefined symbol" in done.stderr


def test_a_library_that_is_not_linked_is_found(tmp_path, capsys):
    """Code of another file that is not there: linking succeeds, loading fails."""
    source = tmp_path / "op.cc"
    source.write_text("namespace acme { int missing(); }\nint used = acme::missing();\n")
    path = tmp_path / "op.so"
    assert main(["lib", "build", "--for", RELEASE, str(source), "-o", str(path)]) == 1
    assert "acme::missing" in capsys.readouterr().out


WRONG = [
    (
        '#include "tensorflow/core/no_such.h"\n',
        "op.cc:1:10: fatal error: tensorflow/core/no_such.h: No such file",
    ),
    ("int f() { return 1 }\n", "op.cc:1:19: error: expected ';' before '}' token"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_compiler_error_names_its_place(text, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("op.cc").write_text(text)
    assert main(["lib", "build", "--for", RELEASE, "op.cc"]) == 2
    assert message in capsys.readouterr().err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["op.cc"]


def test_another_release_than_the_installed_one_is_not_taken_for_it(capsys):
    assert main(["lib", "build", "--for", "tensorflow==2.8.4", SOURCE]) == 2
    assert f"this environment has tensorflow {tf.__version__}" in capsys.readouterr().err
