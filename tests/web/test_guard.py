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


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "evil.example:{port}", ""])
def test_a_foreign_host_name_is_refused_even_with_the_token(ui, host):
    for path in ("/", "/api/v1/models"):
        answer = ui.request("GET", path, host=host.format(port=ui.port) or " ")
        assert answer.status == 421


@pytest.mark.parametrize("host", ["localhost:{port}", "127.0.0.1:{port}", "LOCALHOST:{port}"])
def test_the_names_of_this_machine_are_accepted(ui, host):
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
