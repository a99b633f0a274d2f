"""Who may ask: token, host name, headers of every answer."""

import pytest
from tests.web.ui_client import TOKEN, running


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], f"{TOKEN}x", "ünï"])
def test_a_request_without_the_right_token_is_refused(ui, token):
    headers = {"Authorization": f"Basic {TOKEN}"} if token is None else {}
    sent = None if token is None else token.encode().decode("latin-1")
    for method, path in [("GET", "/models"), ("POST", "/models"), ("GET", "/nothing"), ("DELETE", "/jobs/1")]:
        answer = ui.request(method, f"/api/v1{path}", token=sent, headers=headers)
        assert answer.status == 401
        assert "token" in answer.error


FOREIGN = [
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1.evil.example",
    "localhost:1@evil.example",
    "[::1",
    "",
]


@pytest.mark.parametrize("host", FOREIGN)
def test_a_foreign_host_name_is_refused_even_with_the_token(ui, host):
    for path in ("/", "/api/v1/models"):
        answer = ui.request("GET", path, host=host.format(port=ui.port) or " ")
        assert answer.status == 421


HERE = ["localhost:{port}", "127.0.0.1:{port}", "LOCALHOST:{port}", "localhost:9999", "127.0.0.1", "[::1]:80"]


@pytest.mark.parametrize("host", HERE)
def test_the_names_of_this_machine_are_accepted_with_every_port_as_of_a_tunnel(ui, host):
    assert ui.get("/models", host=host.format(port=ui.port)).status == 200


@pytest.mark.parametrize("path", ["/", "/favicon.svg", "/api/v1/models", "/api/v1/nothing", "/nothing"])
def test_every_answer_has_the_protecting_headers(ui, path):
    headers = ui.request("GET", path).headers
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert not any(name.lower().startswith("access-control") for name in headers)


@pytest.mark.parametrize("path", ["/../page.py", "/%2e%2e/page.py", "/assets/app.js", "/sources.sha256"])
def test_only_the_files_of_the_page_are_served(ui, path):
    assert ui.request("GET", path).status in (400, 404)


def test_the_page_needs_no_token(ui):
    answer = ui.request("GET", "/", token=None)
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    assert b"app.js" in answer.body


def test_another_host_accepts_every_name_but_needs_the_token():
    with running(host="0.0.0.0") as client:
        assert client.get("/models", host="my-machine:80").status == 200
        assert client.get("/models", host="my-machine:80", token="wrong").status == 401


def test_other_names_are_allowed_one_by_one():
    with running(allow_hosts=("Models.example",)) as client:
        assert client.get("/models", host="models.example:443").status == 200
        assert client.get("/models", host="localhost:1").status == 200
        assert client.get("/models", host="other.example").status == 421


# The cookie that the page gets for the token


@pytest.fixture
def cookie(ui):
    answer = ui.post("/login", {})
    assert answer.status == 200
    pair, *marks = answer.headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(marks)
    assert TOKEN not in pair
    return pair


def test_the_cookie_stands_for_the_token(ui, cookie):
    assert ui.post("/login", {}, token="wrong").status == 401
    assert ui.get("/models", token=None, headers={"Cookie": cookie}).status == 200
    assert ui.get("/models", token=None, headers={"Cookie": cookie[:-1]}).status == 401
    assert ui.get("/models", token="wrong", headers={"Cookie": cookie}).status == 401


def test_the_cookie_of_another_server_is_not_accepted(cookie):
    with running(token="another-token-of-16") as other:
        assert other.get("/models", token=None, headers={"Cookie": cookie}).status == 401


ELSEWHERE = [
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "null"},
]


@pytest.mark.parametrize("headers", ELSEWHERE)
def test_a_page_of_another_port_cannot_use_the_cookie(ui, cookie, headers):
    assert ui.get("/models", token=None, headers={"Cookie": cookie} | headers).status == 401


def test_a_change_with_the_cookie_needs_the_origin(ui, cookie):
    body, here = {"text": "TFP101"}, f"http://127.0.0.1:{ui.port}"
    assert ui.post("/explain", body, token=None, headers={"Cookie": cookie}).status == 401
    assert ui.post("/explain", body, token=None, headers={"Cookie": cookie, "Origin": here}).status == 200
