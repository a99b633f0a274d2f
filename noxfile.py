"""Checks that need environments of their own: other Pythons, and the package as users install it.

    nox                     every session, on every supported Python that is installed
    nox -s tests-3.12       the everyday tests on one Python
    nox -s package          the wheel and the source distribution, in empty environments

`make test-pythons` and `make test-package` run the same. A Python that is not installed is
skipped with a message; pyenv's versions are found without activating them.
"""

import os
import re
import shutil
from pathlib import Path

import nox

ROOT = Path(__file__).parent
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
TARGET = "tensorflow==1.13.2"
IGNORED = ["--ignore=tests/live", "--ignore=tests/serve", "--ignore=tests/browser"]
EVERYDAY = [["-n", "2", *IGNORED], ["-n", "2", "tests/serve"]]

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False
nox.needs_version = ">=2024.4.15"


def add_pyenv_to_path() -> None:
    """Put the newest interpreter of pyenv for each supported Python on PATH."""
    versions = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    for python in PYTHONS:
        installed = [path for path in versions.glob(f"{python}.*") if re.fullmatch(r"[\d.]+", path.name)]
        if installed:
            newest = max(installed, key=lambda path: [int(part) for part in path.name.split(".")])
            os.environ["PATH"] = str(newest / "bin") + os.pathsep + os.environ["PATH"]


add_pyenv_to_path()


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the everyday tests; arguments after `--` go to pytest."""
    session.install("--upgrade", "pip>=25.1")
    session.install("-e", ".", "--group", "test")
    for arguments in [session.posargs] if session.posargs else EVERYDAY:
        session.run("pytest", *arguments)


@nox.session
def package(session: nox.Session) -> None:
    """Build the wheel and the source distribution, install each alone, and use it outside the checkout."""
    session.install("build")
    scratch = Path(session.create_tmp())
    shutil.rmtree(scratch, ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", str(scratch / "dist"), str(ROOT))
    for pattern in ("*.whl", "*.tar.gz"):
        (artifact,) = (scratch / "dist").glob(pattern)
        use_installed(session, artifact, scratch / artifact.suffix.strip("."))


def use_installed(session: nox.Session, artifact: Path, folder: Path) -> None:
    """Install an artifact into an empty environment and run the demo and the commands there."""
    session.run("python", "-m", "venv", str(folder / "venv"))
    python = str((folder / "venv/bin/python").absolute())
    tfport = str((folder / "venv/bin/tfport").absolute())
    session.run(python, "-m", "pip", "install", "-q", str(artifact), external=True)
    shutil.copytree(ROOT / "examples", folder / "work/examples")
    environment = {"PYTHONPATH": "", "PATH": os.defpath}
    with session.chdir(folder / "work"):
        where = "import tfport, pathlib; print(pathlib.Path(tfport.__file__).parent)"
        location = session.run(python, "-c", where, external=True, silent=True, env=environment)
        if Path(ROOT, "src") in Path(str(location).strip()).parents:
            session.error(f"{artifact.name} is not used: tfport is imported from {location}")
        session.run(python, "examples/demo.py", external=True, env=environment)
        session.run(tfport, "--help", external=True, silent=True, env=environment)
        session.run(python, "-m", "tfport", "--help", external=True, silent=True, env=environment)
        check = ["check", "examples/attention", "--on", TARGET]
        session.run(tfport, *check, external=True, env=environment, success_codes=[1])
        session.run(tfport, "run", "examples/attention", "--input", 'words=[["river", "rises"]]',
                    external=True, env=environment)  # fmt: skip
    session.log(f"{artifact.name} works in an empty environment")
