"""Standard streams that are closed or full do not stop a command or a server."""

import subprocess
import sys

import pytest

MAIN = [sys.executable, "-c", "from tfport.cli.main import main; raise SystemExit(main())"]
REDIRECTIONS = ["2>/dev/full", "2>&-", "2>&- >&-", "2>&- >&- <&-"]


def shell(redirection: str, *args: object) -> list[str]:
    return ["sh", "-c", f'exec "$@" {redirection}', "sh", *MAIN, *map(str, args)]


@pytest.mark.parametrize("redirection", REDIRECTIONS)
def test_a_server_serves_without_standard_error(tmp_path, redirection):
    grpc = pytest.importorskip("grpc", reason="pip install tfport[serve]")
    from tests.serve.models.exports import export
    from tests.serve.process import PATIENCE, PREDICT, predict_over, until

    export(tmp_path / "m", 3)
    path = tmp_path / "socket"
    flags = ["--port=0", "--rest_api_port=0", f"--grpc_socket_path={path}", "--log_level=debug"]
    server = subprocess.Popen(shell(redirection, "serve", tmp_path / "m", *flags))
    try:
        until(lambda: path.exists() or server.poll() is not None)
        with grpc.insecure_channel(f"unix:{path}") as channel:
            assert predict_over(channel, 1, wait_for_ready=True) == [4.0]
            with pytest.raises(grpc.RpcError):  # which is logged
                channel.unary_unary(PREDICT)(b"\xff", timeout=PATIENCE)
            assert predict_over(channel, 2) == [5.0]
        server.terminate()
        assert server.wait(PATIENCE) == 0
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("redirection", REDIRECTIONS)
def test_an_error_keeps_its_exit_code(tmp_path, redirection):
    assert subprocess.run(shell(redirection, "inspect", tmp_path / "absent")).returncode == 2


def test_messages_are_written_as_before(tmp_path):
    done = subprocess.run([*MAIN, "inspect", tmp_path / "absent"], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n"), done.stderr[:8]) == (2, 1, "tfport: ")


@pytest.mark.parametrize("args", [("targets",), ("targets", "--json"), ("--version",)])
def test_a_full_disk_behind_standard_output_is_one_sentence(args):
    done = subprocess.run(shell(">/dev/full", *args), stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "tfport: standard output: no space left on device\n")
