"""Fuzz the REST port with schemathesis: requests that the OpenAPI document allows, and others.

Needs `schemathesis`; skipped without it.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("schemathesis", reason="pip install schemathesis")
pytest.importorskip("aiohttp", reason="pip install tfport[serve]")
from tests.serve.models.exports import export
from tests.serve.process import command
from tests.serve.rest.server import serving

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
# a request for something that the server does not have is not a failure
SETTINGS = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "4xx", 501, 503, 504]

[parameters]
"path.model" = {models}
"path.version" = [1, 2, 7, 9]
"path.label" = ["stable", "none"]
"""
MONITORING = "prometheus_config { enable: true }"


def run(url: str, folder: Path, *models: str) -> subprocess.CompletedProcess[str]:
    settings = folder / "schemathesis.toml"
    settings.write_text(SETTINGS.format(models=[*models, "absent"]))
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(settings), "run", url]
    command += ["--checks", CHECKS, "--max-examples", "60", "--generation-deterministic", "--no-color"]
    command += [
        "--phases",
        "examples,coverage,fuzzing",
        "--suppress-health-check",
        "all",
        "--warnings",
        "off",
    ]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=900)


def test_no_request_brings_the_server_down(tmp_path, caplog):
    async def check() -> subprocess.CompletedProcess[str]:
        async with serving() as port:
            url, models = f"http://127.0.0.1:{port.port}/openapi.json", ("half", "echo", "pairs", "examples")
            done = await asyncio.to_thread(run, url, tmp_path, *models)
            assert (await port.ask("GET", "/v1/health/live"))[0] == 200
            return done

    done = asyncio.run(check())
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert not [record for record in caplog.records if record.exc_info]


def test_no_request_brings_down_a_server_with_both_protocols(tmp_path):
    export(tmp_path / "m", 1)
    (tmp_path / "monitoring.txt").write_text(MONITORING)
    with command(tmp_path / "m", f"--monitoring_config_file={tmp_path / 'monitoring.txt'}") as running:
        done = run(f"http://127.0.0.1:{running.rest}/openapi.json", tmp_path, "m")
        assert running.answers() == 1
        assert running.end() == 0
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
