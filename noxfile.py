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
import tomllib
from pathlib import Path

import nox

ROOT = Path(__file__).parent
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
TARGET = "tensorflow==1.13.2"
MODEL = "examples/attention"
LOOKING = [
    ["inspect", MODEL],
    ["scan", MODEL],
    ["matrix", MODEL],
    ["ops", "MatMul"],
    ["explain", "TFP101"],
    ["targets"],
]
RUNNING = {
    "lib": ["lib", "show", "tests/libraries/good/op.so"],
    "run": ["run", MODEL, "--input", 'words=[["river", "rises"]]'],
    "serve": ["serve"],
    "ui": ["ui", "nothing"],
}
"""A command for each extra that one needs."""
MOST_INSTALLED = 90_000_000
"""Bytes of a light install, without pip and compiled files."""
INSTALLED = """
from importlib.metadata import distributions
from os.path import getsize
ours = [d for d in distributions() if d.metadata["Name"] not in {"pip", "setuptools"}]
files = [str(d.locate_file(f)) for d in ours for f in d.files or () if f.suffix != ".pyc"]
print(sum(map(getsize, files)))
"""
FASTER = {"fsspec", "pysimdjson", "uvloop"}
"""Packages without which a command works."""
IGNORED = [f"--ignore=tests/{folder}" for folder in ("live", "serve", "browser", "engines")]
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
    session.install("-e", ".[run]", "--group", "test")
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
        (artifact,) = (scratch / "dist").absolute().glob(pattern)
        use_installed(session, artifact, scratch / artifact.suffix.strip("."))


def use_installed(session: nox.Session, artifact: Path, folder: Path) -> None:
    """Install an artifact into an empty environment and use it there, without extras and with them."""
    session.run("python", "-m", "venv", str(folder / "venv"))
    python = str((folder / "venv/bin/python").absolute())
    tfport = str((folder / "venv/bin/tfport").absolute())
    wheels = str((folder / "wheels").absolute())
    pip = [python, "-m", "pip", "--disable-pip-version-check", "-q"]
    session.run(*pip, "install", str(artifact), external=True)
    shutil.copytree(ROOT / "examples", folder / "work/examples")
    shutil.copytree(ROOT / "tests/libraries/good", folder / "work/tests/libraries/good")
    environment = {"PYTHONPATH": "", "PATH": os.defpath}

    def use(*command: str, codes: tuple[int, ...] = (0,)) -> str:
        return str(
            session.run(*command, external=True, env=environment, success_codes=list(codes), silent=True)
        )

    def refuses(extra: str) -> None:
        said = use(tfport, *RUNNING[extra], codes=(2,))
        if f'which is not installed: pip install "tfport[{extra}]"' not in said:
            session.error(f"tfport {' '.join(RUNNING[extra])} does not say what to install: {said}")

    with session.chdir(folder / "work"):
        location = use(python, "-c", "import tfport, pathlib; print(pathlib.Path(tfport.__file__).parent)")
        if Path(ROOT, "src") in Path(location.strip()).parents:
            session.error(f"{artifact.name} is not used: tfport is imported from {location}")
        size = int(use(python, "-c", INSTALLED))
        if size > MOST_INSTALLED:
            session.error(f"{artifact.name} and what it needs: {size:,} bytes, more than {MOST_INSTALLED:,}")
        use(tfport, "--help")
        use(python, "-m", "tfport", "--help")
        use(tfport, "check", MODEL, "--on", TARGET, codes=(1,))
        for command in LOOKING:
            use(tfport, *command)
        for extra in RUNNING:
            refuses(extra)
        session.log(f"{artifact.name} looks at models in an empty environment")

        extras = f"{artifact}[{','.join(RUNNING)}]"
        session.run(*pip, "download", "-d", wheels, extras, external=True)
        session.run(*pip, "install", "--find-links", wheels, extras, external=True)
        use(python, "examples/demo.py")
        use(tfport, *RUNNING["run"])
        for extra in RUNNING:
            for package in packages_of(extra):
                session.run(*pip, "uninstall", "-y", package, external=True)
                refuses(extra)
                back = [*pip, "install", "--no-index", "--no-deps", "--find-links", wheels, package]
                session.run(*back, external=True)
        use(tfport, *RUNNING["run"])
    session.log(f"{artifact.name} runs models, and names each package of its extras that is missing")


def packages_of(extra: str) -> list[str]:
    """What an extra brings, without other extras and what is only faster."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = [re.split(r"[^\w-]", text)[0] for text in project["optional-dependencies"][extra]]
    return [name for name in names if name not in {"tfport", *FASTER}]
