import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.interrupts import interruptible

from tfport.check.loaders import LOADERS as KNOWN_LOADERS
from tfport.cli import arguments
from tfport.cli.check.request import FAIL_ON, exit_code, worst
from tfport.cli.main import main
from tfport.formats.proto.graph_pb2 import GraphDef, NodeDef

ROOT = Path(__file__).parents[3]
ATTENTION = str(ROOT / "examples" / "attention")
BROKEN = str(ROOT / "tests" / "broken" / "files")
GRAPH = GraphDef(node=[NodeDef(name="wait", op="NoOp")], versions={"producer": 24}).SerializeToString()
TFPORT = [sys.executable, "-c", "import sys; from tfport.cli.main import main; sys.exit(main())"]


def check(*args: str) -> int:
    return main(["check", *args])


# One model


@pytest.mark.parametrize(("on", "code"), [("1.13.2", 1), ("1.14.0", 0)])
def test_the_exit_code_is_the_verdict(on, code, capsys):
    assert check(ATTENTION, "--on", f"tensorflow=={on}") == code
    assert capsys.readouterr().err == ""


def test_the_target_can_be_named_as_for_fix(capsys):
    assert check(ATTENTION, "--for", "tensorflow==1.13.2") == 1
    named = capsys.readouterr()
    assert check(ATTENTION, "--on", "tensorflow==1.13.2") == 1
    assert capsys.readouterr() == named


def test_the_model_may_follow_the_targets(capsys):
    assert check("--on", "tensorflow==1.13.2", "tensorflow==1.14.0", ATTENTION) == 1
    named = capsys.readouterr()
    assert check(ATTENTION, "--on", "tensorflow==1.13.2", "tensorflow==1.14.0") == 1
    assert capsys.readouterr() == named


def test_a_folder_of_models_may_follow_the_targets(tmp_path, capsys):
    for name in ("a.pb", "b.pb"):
        (tmp_path / name).write_bytes(GRAPH)
    assert check("--on", "tensorflow==2.8.4", str(tmp_path)) == 0
    assert "2 models: 2 run" in capsys.readouterr().out
    (tmp_path / "site-packages" / "package").mkdir(parents=True)
    (tmp_path / "a.pb").rename(tmp_path / "site-packages" / "package" / "a.pb")
    assert check("--on", "tensorflow==2.8.4", str(tmp_path / "site-packages")) == 2  # a target
    assert "expected MODEL" in capsys.readouterr().err


def test_the_json_has_the_documented_fields(capsys):
    assert check(ATTENTION, "--on", "tensorflow==1.13.2", "--device", "cpu", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["version"] == 1
    assert document["model"] == ATTENTION
    assert document["producer"] == {
        "tensorflow": "2.21.0",
        "graph_def": 2474,
        "min_consumer": 0,
        "keras": None,
        "lite": None,
    }
    (result,) = document["results"]
    assert (result["target"], result["device"]) == ("tensorflow==1.13.2", "cpu")
    assert (result["verdict"], result["stage"]) == ("fails", "load")
    (finding,) = result["findings"]
    wanted = ("code", "severity", "op", "node", "function", "signatures", "attr")
    assert [finding[key] for key in wanted] == [
        "TFP101", "error", "BatchMatMulV2", "MatMul", None, ["serving_default"], None,
    ]  # fmt: skip
    assert finding["tensorflow_says"].startswith("Op type not registered 'BatchMatMulV2' in binary ")
    assert {"message", "cause", "fixes"} <= finding.keys()


def test_several_targets_and_loaders(capsys):
    args = ["--on", "tensorflow==1.13.2", "tensorflow==1.14.0", "--on", "tensorflow==2.8"]
    assert check(ATTENTION, *args, "--loader", "capi", "--loader", "serving", "--json") == 1
    results = json.loads(capsys.readouterr().out)["results"]
    targets = ["tensorflow==1.13.2", "tensorflow==1.14.0", "tensorflow==2.8.4"]
    assert list(dict.fromkeys(result["target"] for result in results)) == targets
    assert {loader for result in results for loader in result["loaders"]} == {"capi", "serving"}


REFUSED = [  # what is given                                     the sentence
    (["nowhere", "--on", "tensorflow==2.8.4"], "nowhere: no such file or folder"),
    ([f"{BROKEN}/cut_graph.pb", "--on", "tensorflow==2.8.4"], "the download or copy was cut short"),
    ([f"{BROKEN}/lfs.pb", "--on", "tensorflow==2.8.4"], "fetch it with `git lfs pull`"),
    ([ATTENTION, "--on", "tensorflow==99.0"], "tensorflow 99.0 is not recorded"),
    ([ATTENTION, "--on", "tensorlow==2.8"], "did you mean tensorflow?"),
    ([ATTENTION, ATTENTION, "--on", "tensorflow==99.0"], "tensorflow 99.0 is not recorded"),
    (
        [ATTENTION, "--on", "tensorflow==2.8.4", "--signature", "x"],
        "no signature x; available: serving_default",
    ),
    ([ATTENTION], "no target; expected --on TARGET…"),
    (["--on", "tensorflow==2.8.4"], "expected MODEL… --on TARGET…"),
]


@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda case: " ".join(case)[-50:])
def test_an_error_is_one_sentence(args, sentence, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert check(*args) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("tfport: ")
    assert sentence in printed.err
    assert printed.err.count("\n") == 1


def test_the_parser_accepts_the_loaders_and_devices_of_check():
    from tfport.atlas.target import DEVICES

    assert arguments.LOADERS == KNOWN_LOADERS
    assert arguments.DEVICES == DEVICES


CODES = [  # verdict   severities            error unknown warning note never
    ("runs", {"note"}, [0, 0, 0, 1, 0]),
    ("runs", {"warning"}, [0, 0, 1, 1, 0]),
    ("runs", set(), [0, 0, 0, 0, 0]),
    ("unknown", {"error"}, [2, 1, 1, 1, 0]),
    ("fails", {"error"}, [1, 1, 1, 1, 0]),
    (None, set(), [2, 2, 2, 2, 2]),
]


@pytest.mark.parametrize(("verdict", "severities", "codes"), CODES)
def test_fail_on_sets_what_makes_the_exit_code_1(verdict, severities, codes):
    all_severities = frozenset(severities)
    assert [exit_code(verdict, all_severities, fail_on) for fail_on in FAIL_ON] == codes
    assert exit_code(verdict, all_severities, None) == codes[0]


@pytest.mark.parametrize(("codes", "code"), [([0, 0], 0), ([0, 2], 2), ([2, 1, 0], 1), ([], 0)])
def test_a_failing_model_outweighs_an_unreadable_one(codes, code):
    assert worst(codes) == code


# Forms and files


def test_every_format_can_be_written_to_a_file_which_is_replaced(tmp_path, capsys):
    out = tmp_path / "report"
    readers = {"json": json.loads, "sarif": json.loads, "junit": ElementTree.fromstring, "markdown": str}
    for form, read in readers.items():
        assert check(ATTENTION, "--on", "tensorflow==1.13.2", "--format", form, "-o", str(out)) == 1
        read(out.read_text())
    assert check(ATTENTION, "--on", "tensorflow==1.13.2", "-o", str(out)) == 1
    assert "error[TFP101]" in out.read_text()
    assert list(tmp_path.iterdir()) == [out]
    assert capsys.readouterr().out == ""


def test_an_output_file_that_cannot_be_written_is_one_sentence(tmp_path, capsys):
    assert check(ATTENTION, "--on", "tensorflow==2.8", "-o", str(tmp_path / "no" / "where")) == 2
    assert "where: cannot write: no such file or directory" in capsys.readouterr().err
    assert check(ATTENTION, "--on", "tensorflow==2.8", "-o", str(tmp_path)) == 2
    assert "cannot write: is a directory" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["sarif", "junit", "markdown"])
def test_an_unreadable_model_is_part_of_the_formats_for_ci(form, capsys):
    assert check(f"{BROKEN}/lfs.pb", "--on", "tensorflow==2.8.4", "--format", form) == 2
    printed = capsys.readouterr()
    assert "git lfs pull" in printed.out
    assert printed.err == ""


def test_a_report_imports_neither_rich_nor_other_formats():
    code = (
        "import sys; from tfport.cli.main import main; "
        f"main(['check', {ATTENTION!r}, '--on', 'tensorflow==2.8.4', '-o', '/dev/null']); "
        "print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"rich", "multiprocessing", "tfport.reports.check.sarif"} & set(loaded.split())


# Many models


@pytest.fixture
def folder(tmp_path):
    """A numbered version, a model that is cut, two graphs in one folder, and a link that leads back."""
    shutil.copytree(ATTENTION, tmp_path / "attention" / "3")
    cut = tmp_path / "cut"
    cut.mkdir()
    whole = Path(ATTENTION, "saved_model.pb").read_bytes()
    (cut / "saved_model.pb").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "graph.pb").write_bytes(GRAPH)
    (tmp_path / "graph_2.pb").write_bytes(GRAPH)
    (tmp_path / "round").symlink_to(tmp_path)
    return tmp_path


def test_every_model_below_a_folder_is_checked_even_if_one_is_broken(folder, capsys):
    assert check(str(folder), "--on", "tensorflow==1.13.2", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["version"] == 1
    names = [os.path.relpath(model["model"], folder) for model in document["models"]]
    assert names == ["graph.pb", "graph_2.pb", "attention/3", "cut"]
    assert [model.get("verdict") for model in document["models"]] == ["runs", "runs", "fails", None]
    assert "the download or copy was cut short" in document["models"][3]["error"]


def test_the_text_has_a_line_per_running_model_and_a_summary(folder, capsys):
    assert check(str(folder), "--on", "tensorflow==1.14.0") == 2
    text = capsys.readouterr().out
    together = "".join(text.split())  # a long path is broken over lines
    assert f"{folder}/attention/3runsontensorflow1.14.0" in together
    assert f"{folder}/cutcannotberead:saved_model.pb,byte" in together
    assert text.endswith("\n4 models: 3 run, 1 cannot be read\n")


def test_many_models_keep_the_order_of_the_command_line(tmp_path, capsys):
    names = [f"graph_{number:02}.pb" for number in range(40)]
    for name in names:
        (tmp_path / name).write_bytes(GRAPH)
    (tmp_path / "graph_07.pb").write_bytes(GRAPH[:-1])
    assert check(*(str(tmp_path / name) for name in names), "--on", "tensorflow==2.8.4", "--json") == 2
    models = json.loads(capsys.readouterr().out)["models"]
    assert [os.path.basename(model["model"]) for model in models] == names
    assert [name for name, model in zip(names, models, strict=True) if "error" in model] == ["graph_07.pb"]


def test_an_interrupt_of_many_models_prints_one_line(tmp_path):
    for number in range(300):
        shutil.copytree(ATTENTION, tmp_path / str(number) / "1")
    command = [*TFPORT, "check", str(tmp_path), "--on", "tensorflow==2.8.4"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=interruptible,
    )
    while not children(process.pid) and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "tfport: interrupted\n")


INTERRUPTED_POOL = """
import os, signal, sys
from multiprocessing import resource_tracker
from tfport.cli.main import main

register = resource_tracker.register

def register_and_interrupt(name, kind):
    register(name, kind)
    os.kill(os.getpid(), signal.SIGINT)

resource_tracker.register = register_and_interrupt
sys.exit(main())
"""


def test_an_interrupt_while_the_workers_are_prepared_prints_one_line(tmp_path):
    for number in range(40):
        (tmp_path / f"graph_{number:02}.pb").write_bytes(GRAPH)
    command = [sys.executable, "-c", INTERRUPTED_POOL, "check", str(tmp_path), "--on", "tensorflow==2.8.4"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60, preexec_fn=interruptible)
    assert (process.returncode, process.stdout, process.stderr) == (130, "", "tfport: interrupted\n")


def children(pid: int) -> str:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text() if Path(f"/proc/{pid}").exists() else ""
