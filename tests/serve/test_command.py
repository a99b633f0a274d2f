"""`tfport serve` as a command: start-up errors and messages, every protocol, several models."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from tests.serve.models.exports import adder, config_text, export, model
from tests.serve.process import FREE, GONE, command, predict_over, predict_request, refused, until

from tfport.formats.proto import inference_pb2, serving_api_pb2
from tfport.serve.v2.grpc import SERVICE

LOADS = "/tensorflow/cc/saved_model/load_attempt_count"
MONITORING = 'prometheus_config { enable: true path: "/metrics" }'


@pytest.fixture(scope="module")
def server(exports, tmp_path_factory):
    file = tmp_path_factory.mktemp("config") / "monitoring.txt"
    file.write_text(MONITORING)
    with command(exports, f"--monitoring_config_file={file}", "--log_level=debug") as running:
        yield running


@pytest.fixture
def channel(server):
    with server.channel() as opened:
        yield opened


# -- start-up errors ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    export(folder / "truncated", 1, adder(1)[:-20])
    (folder / "empty").mkdir()
    (folder / "half.config").write_text('model_config_list { config { name: "a"')
    (folder / "unknown.config").write_text("nonsense: 1")
    (folder / "twice.config").write_text(config_text(model("a", "/a"), model("a", "/b")))
    (folder / "bad.ssl").write_text('server_key: "no key" server_cert: "no certificate"')
    (folder / "empty.token").write_text("\n")
    return folder


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ([], "tfport: expected a model: MODEL, --model_base_path or --model_config_file"),
        (["FILES/none"], "tfport: none: FILES/none: no such file or directory"),
        (["FILES/empty"], "no versions under FILES/empty"),
        (["FILES/truncated"], "FILES/truncated/1/saved_model.pb"),
        (["M", "--model_base_path=M"], "tfport: expected MODEL or --model_base_path, found both"),
        (["M", "--model_config_file=x"], "tfport: expected MODEL or --model_config_file, found both"),
        (["--model_config_file=FILES/none"], "tfport: FILES/none: no such file or directory"),
        (["--model_config_file=FILES/half.config"], "tfport: FILES/half.config, line 1: "),
        (["--model_config_file=FILES/unknown.config"], "tfport: FILES/unknown.config, line 1: "),
        (["--model_config_file=FILES/twice.config"], "tfport: Illegal to list model a multiple times"),
        (["M", "--ssl_config_file=FILES/none"], "tfport: FILES/none: no such file or directory"),
        (["M", "--ssl_config_file=FILES/bad.ssl"], "tfport: cannot read the server certificate and key"),
        (["M", "--auth_token_file=FILES/none"], "tfport: FILES/none: cannot read the tokens"),
        (
            ["M", "--auth_token_file=FILES/empty.token"],
            "tfport: FILES/empty.token: the file contains no token",
        ),
        (["M", "--monitoring_config_file=FILES/none"], "tfport: FILES/none: "),
        (["M", "--batching_parameters_file=FILES/none"], "without setting server_options.enable_batching"),
        (["M", "--enable_batching", "--batching_parameters_file=FILES/half.config"], "half.config"),
        (["M", "--grpc_channel_arguments=nonsense"], "tfport: --grpc_channel_arguments: expected key=value"),
        (["M", "--port=70000"], "tfport: --port: expected a port below 65536, found 70000"),
        (["M", "--port=0", "--rest_api_port=0"], "tfport: no port to listen on"),
        (["M", "--port=8777", "--rest_api_port=8777"], "tfport: --rest_api_port and --port are both 8777"),
        (["M", "--health_port=8777", "--port=8777"], "tfport: --health_port and another port are both 8777"),
        (
            ["M", "--health_port=TAKEN"],
            "the health port cannot listen on 127.0.0.1:TAKEN: address already in use",
        ),
        (["M", "--header_seconds=0"], "tfport: --header_seconds: expected at least 1, found 0"),
        (["M", "--max_connections=-1"], "tfport: --max_connections: expected at least 0, found -1"),
        (["M", "--host=nowhere.invalid"], "cannot listen on nowhere.invalid"),
        (["M", "--port=TAKEN"], "gRPC cannot listen on 127.0.0.1:TAKEN: address already in use"),
        (["M", "--rest_api_port=TAKEN"], "REST cannot listen on 127.0.0.1:TAKEN: address already in use"),
    ],
    ids=str,
)
def test_startup_errors_are_one_sentence(args, sentence, files, exports, capsys):
    """Run in this process, as only the message and the code matter."""
    from tfport.cli.main import main

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = {"FILES": str(files), "M": str(exports), "TAKEN": port}

        def full(text: str) -> str:
            for word, meaning in words.items():
                text = meaning if text == word else text
                text = text.replace(f"{word}/", f"{meaning}/").replace(f"={word}", f"={meaning}")
            return text.replace("TAKEN", port)

        assert main(["serve", *FREE, *map(full, args)]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if " INFO " not in line]
    assert len(lines) == 1
    assert full(sentence) in lines[0]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--nonsense=1", "M"], "tfport serve: unrecognized arguments: --nonsense=1"),
        (["--model_base_pat=x"], "=x (did you mean --model_base_path?); see tfport serve --help"),
        (["M", "--port=many"], "tfport serve: argument --port: invalid int value: 'many'"),
        (["M", "--enable_batching", "perhaps"], "tfport: expected one MODEL, found M and perhaps"),
        (["M", "--log_level=loud"], "invalid choice: 'loud'"),
    ],
)
def test_an_unknown_flag_is_an_error(args, sentence):
    code, message = refused(*args)
    assert code == 2
    assert sentence in message.splitlines()[-1]


# -- every protocol ----------------------------------------------------------------------------------


def test_the_startup_message(server, exports):
    url = f"http://127.0.0.1:{server.rest}"
    assert (
        f"tfport serves gRPC at 127.0.0.1:{server.grpc}, REST at {url}\n"
        f"  m, version 3\n    curl -d '{{\"instances\": [1.0]}}' {url}/v1/models/m:predict"
    ) in until(lambda: "curl" in server.output and server.output)
    until(lambda: 'INFO signature model=m version=3 message="serving_default: runs"' in server.output)
    assert "INFO loaded model=m version=3 seconds=" in server.output


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/models", 200),
        ("/v1/models/m", 200),
        ("/v1/models/m/versions/3/metadata", 200),
        ("/v1/models/absent", 404),
        ("/v1/health/live", 200),
        ("/v1/health/ready", 200),
        ("/v2", 200),
        ("/v2/health/live", 200),
        ("/v2/health/ready", 200),
        ("/v2/models/m", 200),
        ("/v2/models/m/versions/3/ready", 200),
        ("/v2/models/absent", 404),
        ("/openapi.json", 200),
        ("/metrics", 200),
        ("/nothing", 404),
    ],
)
def test_every_page(server, path, status):
    assert server.ask("GET", path)[0] == status


def test_predictions_over_every_protocol(server, channel):
    assert server.predict(1, 2) == (200, {"predictions": [4.0, 5.0]})
    assert predict_over(channel, 1, 2) == [4.0, 5.0]
    tensor = {"name": "x", "datatype": "FP32", "shape": [2], "data": [1, 2]}
    status, body = server.ask("POST", "/v2/models/m/infer", {"inputs": [tensor]})
    assert (status, body["outputs"][0]["data"]) == (200, [4.0, 5.0])
    request = inference_pb2.ModelInferRequest(model_name="m")
    entry = request.inputs.add(name="x", datatype="FP32", shape=[2])
    entry.contents.fp32_contents.extend([1, 2])
    answer = channel.unary_unary(f"/{SERVICE}/ModelInfer", None, inference_pb2.ModelInferResponse.FromString)(
        request.SerializeToString(), timeout=60
    )
    assert answer.model_version == "3"


def test_health_and_reflection(channel):
    check = channel.unary_unary(
        "/grpc.health.v1.Health/Check", None, health_pb2.HealthCheckResponse.FromString
    )
    for name in ("", "m"):
        asked = health_pb2.HealthCheckRequest(service=name).SerializeToString()
        assert check(asked, timeout=60).status == health_pb2.HealthCheckResponse.SERVING
    reflect = channel.stream_stream(
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        reflection_pb2.ServerReflectionRequest.SerializeToString,
        reflection_pb2.ServerReflectionResponse.FromString,
    )
    answer = next(reflect(iter([reflection_pb2.ServerReflectionRequest(list_services="")]), timeout=60))
    names = {service.name for service in answer.list_services_response.service}
    assert {"tensorflow.serving.PredictionService", "tensorflow.serving.ModelService", SERVICE} <= names


def test_the_document_has_both_protocols(server):
    paths = server.ask("GET", "/openapi.json")[1]["paths"]
    assert {"/v1/models/{model}:predict", "/v2/models/{name}/infer"} <= set(paths)


def test_metrics_and_lines_tell_of_requests_and_warm_up(server):
    assert server.predict(1)[0] == 200
    text = server.ask("GET", "/metrics")[1]
    for line in (
        ':tensorflow:serving:request_count{model_name="m",status="OK"}',
        'tfport_version_available{model_name="m",version="3"} 1',
        ":tensorflow:serving:model_warmup_records_read{",
    ):
        assert line in text
    until(lambda: "DEBUG request model=m api=predict entrypoint=REST code=OK" in server.output)


def test_wrong_requests_over_every_protocol(server, channel):
    table = [
        ("/v1/models/m:predict", {"instances": ["text"]}, 400),
        ("/v1/models/m:predict", {"instances": [[[1]], [2]]}, 400),
        ("/v1/models/m:predict", {"signature_name": "none", "instances": [1]}, 400),
        ("/v1/models/m/versions/9:predict", {"instances": [1]}, 404),
        ("/v1/models/m:predict", b"{", 400),
        (
            "/v2/models/m/infer",
            {"inputs": [{"name": "x", "datatype": "INT8", "shape": [1], "data": [1]}]},
            400,
        ),
    ]
    for path, body, status in table:
        status_found, answer = server.ask("POST", path, body)
        assert (status_found, list(answer)) == (status, ["error"]), (path, body)
    request = predict_request(1)
    request.model_spec.signature_name = "none"
    call = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
    with pytest.raises(grpc.RpcError) as caught:
        call(request.SerializeToString(), timeout=60)
    assert caught.value.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION)


def test_a_reload_tells_how_it_changed_a_count(exports):
    request = serving_api_pb2.ReloadConfigRequest(metric_names=[LOADS])
    request.config.model_config_list.config.add(
        name="again", base_path=str(exports), model_platform="tensorflow"
    )
    with command(exports) as running, running.channel() as channel:
        call = channel.unary_unary("/tensorflow.serving.ModelService/HandleReloadConfigRequest")
        answer = serving_api_pb2.ReloadConfigResponse.FromString(
            call(request.SerializeToString(), timeout=60)
        )
    assert answer.status.error_code == 0
    assert [(metric.name, metric.int64_value_increase) for metric in answer.metric] == [(LOADS, 1)]


# -- together ----------------------------------------------------------------------------------------


def test_batched_clients_get_their_own_rows_at_another_address(exports, tmp_path):
    file = tmp_path / "batching.txt"
    file.write_text("max_batch_size { value: 16 } batch_timeout_micros { value: 2000 } "
                    "num_batch_threads { value: 2 } max_enqueued_batches { value: 1000 }")  # fmt: skip
    flags = ["--enable_batching", f"--batching_parameters_file={file}", "--host=127.0.0.2"]
    with command(exports, *flags) as running, running.channel() as channel, ThreadPoolExecutor(8) as pool:
        assert running.host == "127.0.0.2"
        with pytest.raises(GONE):
            socket.create_connection(("127.0.0.1", running.rest), 5)

        def client(number: int) -> None:
            for turn in range(20):
                values = [float(1000 * number + turn + row) for row in range(1 + (number + turn) % 5)]
                expected = [value + 3 for value in values]
                if number % 2:
                    assert predict_over(channel, *values) == expected
                else:
                    assert running.predict(*values) == (200, {"predictions": expected})

        list(pool.map(client, range(8)))


def test_models_of_a_file_are_served_though_one_cannot_be(exports, tmp_path):
    export(tmp_path / "broken", 1, b"nothing")
    file = tmp_path / "models.config"
    models = [model("a", exports), model("b", exports), model("broken", tmp_path / "broken")]
    file.write_text(config_text(*models))
    flags = [f"--model_config_file={file}", "--model_base_path=/nowhere", "--log_format=json"]
    with command(*flags) as running:
        assert [running.answers(name) for name in "ab"] == [3.0, 3.0]
        assert running.predict(1, name="broken")[0] == 404
        assert running.ask("GET", "/v1/health/ready")[0] == 503
        assert running.end() == 0
    events = [json.loads(line) for line in running.lines if line.startswith("{")]
    assert [e["model"] for e in events if e["event"] == "load" and e["level"] == "ERROR"] == ["broken"]
    assert any("--model_base_path is ignored" in e.get("message", "") for e in events)
