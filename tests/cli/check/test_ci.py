"""The pre-commit hook and the GitHub action: their files parse, their commands do what they say."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).parents[3]
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
HOOK = HOOKS["tfport-check"]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
INSTALL, CHECK, SCAN = ACTION["runs"]["steps"]
INPUT = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")


@pytest.fixture
def repository(tmp_path):
    """A repository with a model, and `tfport` on the path."""
    shutil.copytree(ROOT / "examples" / "attention", tmp_path / "models" / "attention")
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "tfport"
    command.write_text(
        f"#!{sys.executable}\nimport sys\nfrom tfport.cli.main import main\nsys.exit(main())\n"
    )
    command.chmod(0o755)
    (tmp_path / ".git").mkdir()
    return tmp_path


def run(command: list[str], folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path, **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("on", "code"), [("1.13.2", 1), ("1.14.0", 0)])
def test_the_hook_checks_the_declared_models(on, code, repository):
    (repository / "tfport.toml").write_text(f'[[check]]\nmodel = "models"\non = "tensorflow=={on}"\n')
    assert run(HOOK["entry"].split(), repository).returncode == code
    assert HOOK["pass_filenames"] is False


def test_the_hook_for_scans_gets_the_files_of_a_commit(repository):
    hook = HOOKS["tfport-scan"]
    file = "models/attention/saved_model.pb"
    assert re.search(hook["files"], file)
    assert "pass_filenames" not in hook  # they are passed
    done = run([*hook["entry"].split(), file], repository)
    assert (done.returncode, done.stderr) == (0, "")


FILES = [  # of a repository                    asks?
    ("tfport.toml", True),
    ("sub/tfport.toml", True),
    ("export/1/saved_model.pb", True),
    ("export/1/variables/variables.index", True),
    ("frozen.pb", True),
    ("web/model.json", True),
    ("README.md", False),
    ("src/model.py", False),
    ("package.json", False),
]


@pytest.mark.parametrize(("file", "asks"), FILES)
def test_the_hook_runs_when_a_model_or_the_configuration_changes(file, asks):
    assert bool(re.search(HOOK["files"], file)) == asks


SCANNED = [
    "m.keras",
    "a/m.h5",
    "m.hdf5",
    "m.tflite",
    "m.lite",
    "frozen.pbtxt",
    "m.meta",
    "web/model.json",
    "model.zip",
]


def test_the_hook_for_scans_runs_for_every_format():
    files = HOOKS["tfport-scan"]["files"]
    assert [file for file in SCANNED if not re.search(files, file)] == []
    assert [file for file in ("README.md", "src/model.py", "package.json") if re.search(files, file)] == []


def act(repository: Path, **inputs: str) -> tuple[subprocess.CompletedProcess[str], Path, dict[str, str]]:
    """Run the step that checks, as a runner does."""
    values = {name: spec["default"] for name, spec in ACTION["inputs"].items()} | inputs
    env = {name: INPUT.sub(lambda match: values[match[1]], text) for name, text in CHECK["env"].items()}
    summary, output = repository / "summary.md", repository / "output"
    env |= {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(output), "RUNNER_TEMP": str(repository)}
    done = run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", CHECK["run"]], repository, **env)
    return done, summary, dict(line.split("=", 1) for line in output.read_text().splitlines())


@pytest.mark.parametrize(("on", "code"), [("1.13.2", 1), ("1.14.0", 0)])
def test_the_action_writes_a_log_a_summary_and_a_sarif_file(on, code, repository):
    done, summary, outputs = act(
        repository, model="models/attention", on=f"tensorflow=={on}\ntensorflow==2.8.4"
    )
    assert (done.returncode, outputs["exit-code"], done.stderr) == (code, str(code), "")
    assert f"tensorflow {on}" in done.stdout
    assert summary.read_text().startswith(f"### tfport check: {'fails' if code else 'runs'}\n")
    results = json.loads(Path(outputs["sarif"]).read_text())["runs"][0]["results"]
    assert {result["properties"]["target"] for result in results if result["level"] == "error"} == (
        {"tensorflow==1.13.2"} if code else set()
    )


def test_the_action_passes_every_input_on(repository):
    done, _, _ = act(
        repository,
        model="models\nmodels/attention",
        on="tensorflow==1.13.2",
        device="cpu",
        loader="capi\nserving",
        format="json",
        **{"fail-on": "never"},
    )
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert len(document["models"]) == 2
    assert {name for result in document["models"][0]["results"] for name in result["loaders"]} == {
        "capi",
        "serving",
    }


def test_the_action_checks_the_declared_models(repository):
    (repository / "tfport.toml").write_text('[[check]]\nmodel = "models"\non = "tensorflow==1.14.0"\n')
    done, _, _ = act(repository)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_action_uses_every_input():
    used = {
        name
        for step in (INSTALL, CHECK, SCAN)
        for text in step["env"].values()
        for name in INPUT.findall(text)
    }
    assert used == set(ACTION["inputs"])
    assert "${{" not in INSTALL["run"] + CHECK["run"], "what a stranger writes must not become a command"


@pytest.mark.parametrize(("version", "wanted"), [("", "SOURCE"), ("0.1.0", "tfport==0.1.0")])
def test_the_action_installs_itself_or_a_release(version, wanted):
    line = next(line for line in INSTALL["run"].splitlines() if "pip install" in line)
    what = line.rpartition(" ")[2]
    env = {"VERSION": version, "SOURCE": "SOURCE"}
    assert subprocess.check_output(["bash", "-c", f"echo {what}"], env=env, text=True).strip() == wanted


@pytest.mark.parametrize(("fail_on", "code"), [("", 0), ("never", 0)])
def test_the_action_scans_what_its_input_names(fail_on, code, repository):
    values = {"model": "models", "scan": "models", "format": "text", "scan-fail-on": fail_on}
    env = {name: INPUT.sub(lambda match: values[match[1]], text) for name, text in SCAN["env"].items()}
    output = repository / "output"
    env |= {"GITHUB_OUTPUT": str(output), "RUNNER_TEMP": str(repository)}
    done = run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", SCAN["run"]], repository, **env)
    assert done.returncode == code, done.stderr
    assert "attention" in done.stdout
    assert output.read_text() == f"sarif={repository}/tfport-scan.sarif\n"
    assert '"results"' in (repository / "tfport-scan.sarif").read_text()


@pytest.mark.parametrize("language", ["yaml", "groovy"])
def test_the_examples_for_other_servers_write_junit(language, repository):
    page = (ROOT / "docs/ci.md").read_text("utf-8").split("## Other servers")[1]
    (block,) = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
    scripts = (
        yaml.safe_load(block)["models"]["script"] if language == "yaml" else re.findall(r"sh '(.*)'", block)
    )
    install, check = scripts
    assert install.endswith("pip install tfport")
    (repository / "tfport.toml").write_text('[[check]]\nmodel = "models"\non = "tensorflow==1.13.2"\n')
    done = run(["sh", "-ec", check.replace(".tfport/bin/", "")], repository)
    assert done.returncode == 1, done.stderr  # the model does not run
    (name,) = {*re.findall(r"junit:? '?([\w.]+)", block)}
    suites = ElementTree.parse(repository / name).getroot()
    assert suites.find(".//failure") is not None
