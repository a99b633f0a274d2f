"""How a server starts: REST answers while gRPC is imported; it is ready when all ports are open."""

import asyncio
import subprocess
import sys

import aiohttp
import grpc
import pytest
from tests.serve.models.exports import adder, config_text, export, model, until
from tests.serve.process import text_file

from tfport.formats.proto import serving_pb2
from tfport.serve.flags import FlagValues
from tfport.serve.monitoring.logs import Logs, open_logger
from tfport.serve.server import Server

READY = ("/v1/health/ready", "/v2/health/ready")


async def asked(server: Server) -> list[int]:
    """The status of a prediction over REST, and of the pages that say whether the server is ready."""
    url = f"http://127.0.0.1:{server.rest_port}"
    async with aiohttp.ClientSession(url) as session:
        async with session.post("/v1/models/m:predict", json={"instances": [1]}) as response:
            codes = [response.status]
        for page in READY:
            async with session.get(page) as response:
                codes.append(response.status)
    return codes


async def statuses(flags: FlagValues) -> dict[str, list[int]]:
    """The answers before and after gRPC is there."""
    answers = {}
    with open_logger("text", "error") as logger:
        server = Server(flags, Logs(logger))
        start_grpc = server._start_grpc

        async def answering_first() -> None:
            answers["before"] = await asked(server)
            assert not server.grpc_port
            await start_grpc()

        server._start_grpc = answering_first
        await server.start()
        try:
            answers["after"] = await asked(server)
            async with grpc.aio.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
                predict = channel.unary_unary("/tensorflow.serving.PredictionService/GetModelMetadata")
                request = serving_pb2.PredictRequest()
                request.model_spec.name = "no such model"
                with pytest.raises(grpc.aio.AioRpcError) as refusal:
                    await predict(request.SerializeToString())
                assert refusal.value.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT)
        finally:
            await server.stop()
    return answers


def test_rest_answers_before_grpc_is_imported_and_is_ready_after_it(tmp_path):
    export(tmp_path / "m", 1, adder(1))
    flags = FlagValues(model_base_path=str(tmp_path / "m"), model_name="m", port=-1, rest_api_port=-1)
    assert asyncio.run(statuses(flags)) == {"before": [200, 503, 503], "after": [200, 200, 200]}


@pytest.mark.parametrize(
    ("package", "named"), [("grpc", "grpcio"), ("grpc_health", "grpcio-health-checking")]
)
def test_a_missing_package_is_named_before_anything_is_loaded(package, named):
    program = (
        f"import sys; sys.modules['{package}'] = None; from tfport.cli.main import main;"
        "sys.exit(main(['serve', 'no_such_model']))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 2
    says = f'tfport serve needs {named}, which is not installed: pip install "tfport[serve]"'
    assert run.stderr == f"tfport: {says}\n"


LOGGING = """logging_config {{ sampling_config {{ sampling_rate: 1 }}
    log_collector_config {{ filename_prefix: "{}" }} }}"""


def test_requests_are_logged_as_the_configuration_file_says_now(tmp_path):
    export(tmp_path / "m", 1, adder(1))
    file, log = tmp_path / "models.config", LOGGING.format(tmp_path / "log")
    text_file(file, config_text(model("m", tmp_path / "m")))
    flags = FlagValues(
        model_config_file=str(file), model_config_file_poll_wait_seconds=1, port=0, rest_api_port=-1
    )

    async def check() -> None:
        with open_logger("text", "error") as logger:
            server = Server(flags, Logs(logger))
            await server.start()
            try:
                assert not server.request_log.logs("m")
                text_file(file, config_text(model("m", tmp_path / "m", log)))
                await until(lambda: server.request_log.logs("m"))
            finally:
                await server.stop()

    asyncio.run(check())
