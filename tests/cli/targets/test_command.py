"""`tfport targets`: what is recorded, one in full, two compared; text of 80 columns, JSON and errors."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tfport.atlas.atlas import atlas
from tfport.cli.main import main
from tfport.reports import build_facts

ATTENTION = str(Path(__file__).parents[3] / "examples/attention")
FACTS = {  # as the collector writes them
    "uploaded": "2022-11-16T10:00:00Z",
    "pythons": ["3.7", "3.8", "3.9", "3.10"],
    "cuda": {"version": "11.2", "cudnn": "8", "sass": ["3.5", "8.0"], "ptx": ["8.0"], "linked": []},
    "glibc": "2.12",
    "glibcxx": "3.4.19",
    "cxx11_abi": False,
    "graph_def": {"producer": 987, "min_consumer": 0, "min_producer": 0},
    "requires": ["numpy>=1.20", "six", "keras<2.9,>=2.8", "tf_keras; extra == 'x'"],
}


@pytest.fixture
def tfport(capsys):
    """Run a command: exit code, standard output, standard error."""

    def run(*argv):
        code = main(argv)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def test_the_list_of_builds_fits_in_80_columns(tfport):
    code, out, err = tfport("targets")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    rows = [line.split() for line in out.splitlines()]
    newest = next(row for row in rows if row[:1] == ["2.8.4"])
    assert newest[-2:] == ["1780", "13526"]
    assert not any(row[:1] == ["2.8.3"] for row in rows)


def test_all_lists_every_patch(tfport):
    _, out, _ = tfport("targets", "--all")
    rows = [line.split() for line in out.splitlines()]
    shown = {row[0] for row in rows if row}
    assert {build.version for build in atlas().builds("tensorflow")} <= shown


def test_the_list_of_builds_as_json(tfport):
    document = json.loads(tfport("targets", "--json")[1])
    assert document["version"] == 1
    first = document["packages"][0]
    release = next(r for r in first["releases"] if r["version"] == "2.8.4")
    assert (first["name"], release["target"], release["ops"]) == ("tensorflow", "tensorflow==2.8.4", 1780)
    assert len(release["sha256"]) == 64
    assert set(release) == {"target", "version", "platform", "wheel", "sha256", "ops", "kernels", "facts"}


def test_one_target_in_full(tfport):
    code, out, err = tfport("targets", "show", "tensorflow==2.8.4")
    assert (code, err) == (0, "")
    assert out.splitlines()[1] == "tensorflow 2.8.4  1,780 ops"
    assert "wheel      tensorflow-2.8.4-cp" in out
    assert "CPU 8,635, GPU 3,977" in out
    assert max(map(len, out.splitlines())) <= 80


def test_each_of_several_targets_is_shown(tfport):
    _, out, _ = tfport("targets", "show", "tensorflow>=2.20")
    assert "\ntensorflow 2.20.0  " in out
    assert "\ntensorflow 2.21.0  " in out


def test_a_target_as_json(tfport):
    document = json.loads(tfport("targets", "show", "tensorflow==2.8", "--json")[1])
    (target,) = document["targets"]
    assert (document["version"], target["name"], target["target"]) == (
        1,
        "tensorflow 2.8.4",
        "tensorflow==2.8.4",
    )
    assert (target["kind"], target["ops"]) == ("tensorflow", 1780)
    (part,) = target["parts"]
    assert part["kernels"]["CPU"] == 8635
    assert part["libraries"] == {"lite/experimental/microfrontend/python/ops/_audio_microfrontend_op.so": 1}


def test_a_contrib_library_is_listed_with_its_ops(tfport):
    document = json.loads(tfport("targets", "show", "tensorflow==1.15.5", "--json")[1])
    assert (
        document["targets"][0]["parts"][0]["libraries"]["contrib/resampler/python/ops/_resampler_ops.so"] == 2
    )


def test_options_can_precede_the_subcommand(tfport):
    assert json.loads(tfport("targets", "--json", "show", "tensorflow==2.8")[1])["version"] == 1


def test_a_difference(tfport):
    code, out, err = tfport("targets", "diff", "tensorflow==2.20.0", "tensorflow==2.21.0")
    assert (code, err) == (0, "")
    assert "ops  1 added, 0 removed, 1 changed" in out
    assert "AssignVariableOp  CPU  +  dtype=float4_e2m1fn" in out


def test_a_large_difference_is_shortened_without_all(tfport):
    _, short, _ = tfport("targets", "diff", "tensorflow==2.0.4", "tensorflow==2.1.0")
    _, long, _ = tfport("targets", "diff", "tensorflow==2.0.4", "tensorflow==2.1.0", "--all")
    assert "more; --all shows them" in short
    assert "more; --all shows them" not in long
    assert len(long) > 5 * len(short)
    assert max(map(len, (short + long).splitlines())) <= 80


def test_a_difference_as_json(tfport):
    document = json.loads(tfport("targets", "diff", "tensorflow==2.20.0", "tensorflow==2.21.0", "--json")[1])
    assert document["version"] == 1
    assert document["ops"]["came"] == ["DecodeJxl"]


ERRORS = [
    (["show", "tensorflow==2.8.99"], "2.8.99"),
    (["show", "tensorflo==2.8"], "tensorflo"),
    (["diff", "tensorflow>=2.20", "tensorflow==2.21"], "expected one target, found 2"),
    (["header", ATTENTION, "--for", "tensorflow>=2.20"], "expected one target, found 2"),
    (["header", "no/such/model", "--for", "tensorflow==2.8"], "no/such/model"),
    (["record", "no/such/file", "-o", "my.target"], "no/such/file"),
]


@pytest.mark.parametrize(("argv", "sentence"), ERRORS)
def test_an_error_is_one_sentence(tfport, argv, sentence):
    code, out, err = tfport("targets", *argv)
    assert (code, out) == (2, "")
    assert err.startswith("tfport: ")
    assert err.count("\n") == 1
    assert sentence in err


def test_a_header_for_a_model(tfport, tmp_path):
    code, out, _ = tfport("targets", "header", ATTENTION, "--for", "tensorflow==2.8.4")
    assert code == 0
    assert '"BatchMatMulV2"' in out
    file = tmp_path / "ops_to_register.h"
    assert tfport("targets", "header", ATTENTION, "--for", "tensorflow==2.8.4", "-o", str(file))[:2] == (
        0,
        "",
    )
    assert file.read_text() == out
    code, _, err = tfport("targets", "header", ATTENTION, "--for", "tensorflow==2.8.4", "-o", str(file))
    assert code == 2
    assert "already exists" in err


def test_a_reduced_build_is_a_target(tfport, tmp_path):
    file = tmp_path / "ops_to_register.h"
    tfport("targets", "header", ATTENTION, "--for", "tensorflow==2.8.4", "-o", str(file))
    code, out, _ = tfport("targets", "show", f"{file}@tensorflow==2.8.4")
    assert code == 0
    assert "tensorflow 2.8.4, reduced by ops_to_register.h" in out
    assert tfport("ops", "BatchMatMulV2", "--on", f"{file}@tensorflow==2.8.4")[0] == 0
    assert tfport("ops", "CudnnRNN", "--on", f"{file}@tensorflow==2.8.4")[0] == 1


def test_facts_of_a_build_in_a_row():
    row = dict(zip(build_facts.HEAD, build_facts.cells(FACTS), strict=True))
    assert row == {
        "date": "2022-11", "Python": "3.7-3.10", "CUDA": "11.2", "cuDNN": "8", "compute": "3.5-8.0",
        "GLIBC": "2.12", "ABI": "old", "GraphDef": "987",
    }  # fmt: skip


def test_facts_of_a_build_in_full():
    rows = {name: items for name, items in build_facts.rows(FACTS) if items}
    assert rows == {
        "date": ["2022-11-16"],
        "Python": ["3.7", "3.8", "3.9", "3.10"],
        "CUDA": ["11.2"],
        "cuDNN": ["8"],
        "compute": ["3.5", "8.0"],
        "PTX": ["8.0"],
        "C++ ABI": ["_GLIBCXX_USE_CXX11_ABI=0"],
        "needs": ["GLIBC 2.12", "GLIBCXX 3.4.19"],
        "GraphDef": ["producer 987", "min_consumer 0", "min_producer 0"],
        "requires": ["numpy>=1.20", "keras<2.9,>=2.8", "tf_keras; extra == 'x'"],
    }


def test_unread_facts_are_left_out():
    assert set(build_facts.cells({})) == {""}
    assert not any(items for _, items in build_facts.rows({}))
    assert dict(build_facts.rows({"cuda": None}))["CUDA"] == ["none"]


def test_lists_do_not_import_rich():
    code = (
        "import sys; from tfport.cli.main import main; main(['ops', 'NoOp']);"
        "main(['targets']); print(any(m.startswith('rich') for m in sys.modules), file=sys.stderr)"
    )
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert completed.stderr == "False\n"
