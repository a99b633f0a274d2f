"""Run the steps of deploy/Dockerfile without Docker, and try the server that they make: `make test-image`.

Needs root and mmdebstrap. Debian's own Python stands for the image that the Dockerfile builds on. The server
runs as the image's user and can write only to /tmp, as in `docker run --read-only --tmpfs /tmp`.
"""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUITE, PACKAGES = "trixie", "python3,python3-venv,ca-certificates,passwd"
DATES = '--aptopt=Acquire::Check-Valid-Until "false"'  # of mirrors that are snapshots
MODEL = ROOT / "tests/models/half_plus_two"
PORT, SECONDS_TO_START = 8501, 120
IGNORED = {"EXPOSE", "STOPSIGNAL"}
"""Instructions that tell others about the image."""


@dataclass
class Image:
    """A root directory, and how its server starts."""

    root: Path
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    user: str = "0"
    entrypoint: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)

    def do(self, instruction: str, rest: str) -> None:
        """Do one instruction of the Dockerfile."""
        if instruction == "RUN":
            subprocess.run(self.command(["sh", "-c", rest]), check=True)
        elif instruction == "ENV":
            self.environment |= dict(pair.split("=", 1) for pair in shlex.split(rest))
        elif instruction == "COPY":
            *sources, target = [word for word in rest.split() if not word.startswith("--")]
            folder = self.root / target.strip("/")
            folder.mkdir(parents=True, exist_ok=True)
            for path in (path for source in sources for path in ROOT.glob(source)):
                shutil.copy(path, folder)
        elif instruction == "USER":
            self.user = rest
        elif instruction == "ENTRYPOINT":
            self.entrypoint = json.loads(rest)
        elif instruction == "HEALTHCHECK":
            self.health = json.loads(rest.partition("CMD ")[2])
        elif instruction not in IGNORED:
            sys.exit(f"deploy/Dockerfile: {instruction} is not known to {__file__}")

    def command(self, words: list[str], *, read_only: bool = False) -> list[str]:
        """A command in this root; its mounts are its own and end with it."""
        root = shlex.quote(str(self.root))
        mounts = f"mount --bind {root} {root}; mount -t proc proc {root}/proc; mount --bind /dev {root}/dev"
        if read_only:
            mounts += f"; mount -o remount,bind,ro {root}; mount -t tmpfs tmp {root}/tmp"
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        inside = shlex.join(["env", "-i", *variables, *words])
        chroot = f"exec chroot --userspec={self.user}:{self.user} {root} {inside}"
        return ["unshare", "--mount", "sh", "-ec", f"{mounts}; {chroot}"]


def steps(target: str) -> list[tuple[str, str]]:
    """The instructions of a stage, after those of the stages that it builds on."""
    text = (ROOT / "deploy/Dockerfile").read_text("utf-8").replace("\\\n", " ")
    stages: dict[str, list[tuple[str, str]]] = {}
    for line in filter(lambda line: line and not line.startswith("#"), text.splitlines()):
        instruction, _, rest = line.partition(" ")
        if instruction == "FROM":
            base, name = re.fullmatch(r"(\S+) AS (\w+)", rest).groups()
            stages[name] = stage = list(stages.get(base, []))
        elif instruction != "ARG":
            stage.append((instruction, rest))
    return stages[target]


def try_server(image: Image) -> None:
    """Start the server as the image does, ask it, and end it."""
    shutil.copytree(MODEL, image.root / "models/half_plus_two/1", dirs_exist_ok=True)
    image.environment["MODEL_NAME"] = "half_plus_two"
    server = subprocess.Popen(image.command(image.entrypoint, read_only=True))
    try:
        end = time.monotonic() + SECONDS_TO_START
        while subprocess.run(image.command(image.health), stderr=subprocess.DEVNULL).returncode:
            if server.poll() is not None or time.monotonic() > end:
                sys.exit("the health check of the image does not succeed")
            time.sleep(1)
        url = f"http://localhost:{PORT}/v1/models/half_plus_two:predict"
        with urllib.request.urlopen(url, json.dumps({"instances": [1.0, 2.0]}).encode()) as answer:
            assert json.load(answer) == {"predictions": [2.5, 3.0]}
        owner = Path(f"/proc/{server.pid}").stat().st_uid
        assert owner == int(image.user), f"the server runs as user {owner}"
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0, f"the server ended with {server.returncode}"
    finally:
        server.kill()
        server.wait()


def main() -> None:
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", "dist", "."]
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    subprocess.run(build, cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        image = Image(Path(folder, "root"))
        debian = ["mmdebstrap", "--quiet", "--variant=apt", f"--include={PACKAGES}", DATES, SUITE]
        subprocess.run([*debian, str(image.root)], check=True)
        for name in ("etc/resolv.conf", "etc/pip.conf", "etc/ssl/certs/ca-certificates.crt"):
            if Path("/", name).exists():  # how this machine reaches the package index
                shutil.copy(Path("/", name), image.root / name)
        for instruction, rest in steps("cpu"):
            print(instruction, rest, flush=True)
            image.do(instruction, rest)
        try_server(image)
    print("the server of the image answers, as its user, with a read-only root, and stops on SIGTERM")


if __name__ == "__main__":
    main()
