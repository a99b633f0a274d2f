"""Heads that are read without aiohttp, and those that are left to it."""

import pytest

from tfport.serve.rest.request_head import MOST_FIELDS, MOST_HEAD, ParsedPath, RequestFraming, read_head

START = b"POST /v1/models/half:predict HTTP/1.1\r\n"
LENGTH = b"Content-Length: 18\r\n"
BODY = b'{"instances": [1]}'
WHOLE = START + LENGTH + b"\r\n" + BODY


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"/v1/models/half:predict", ParsedPath("half", None, "", "predict")),
        (b"/v1/models/a-b.c/versions/3:predict", ParsedPath("a-b.c", 3, "", "predict")),
        (b"/v1/models/a/labels/stable:predict", ParsedPath("a", None, "stable", "predict")),
        (b"/v1/models/half:regress", None),
        (b"/v1/models/half:predict?x=1", None),
        (b"/v1/models/h%61lf:predict", None),
        (b"/v1/models/..:predict", None),
        (b"/v1/models/a/versions/99999999999999999999:predict", None),
        (b"/V1/models/half:predict", None),
        (b"/", None),
    ],
)
def test_the_path_of_a_predict_request_is_parsed(target, path):
    head = read_head(b"POST " + target + b" HTTP/1.1\r\n" + LENGTH + b"\r\n")
    assert head is not None
    assert (head.path, head.length) == (path, 18)


def test_fields_may_be_written_in_any_case_and_with_blanks():
    head = read_head(
        START + b"host:x\r\ncontent-LENGTH: \t 18 \r\nAUTHORIZATION: Bearer a b\r\nX-Y: \r\n\r\n"
    )
    assert head is not None
    assert (head.length, head.authorization) == (18, "Bearer a b")


def test_a_get_request_has_no_body():
    head = read_head(b"GET /v1/models/half HTTP/1.1\r\nConnection: Keep-Alive\r\n\r\n")
    assert head is not None
    assert (head.length, head.path) == (0, None)


@pytest.mark.parametrize(
    "head",
    [
        START + b"\r\n",  # no length
        START.replace(b"1.1", b"1.0") + LENGTH + b"\r\n",
        START.replace(b"POST", b"PUT") + LENGTH + b"\r\n",
        START.replace(b" HTTP", b"  HTTP") + LENGTH + b"\r\n",
        START + LENGTH + LENGTH + b"\r\n",
        START + LENGTH + b"Transfer-Encoding: chunked\r\n\r\n",
        START + LENGTH + b"Content-Encoding: gzip\r\n\r\n",
        START + LENGTH + b"Expect: 100-continue\r\n\r\n",
        START + LENGTH + b"Connection: close\r\n\r\n",
        START + LENGTH + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
        START + b"Content-Length: +18\r\n\r\n",
        START + b"Content-Length: 18, 18\r\n\r\n",
        START + b"Content-Length: 0x12\r\n\r\n",
        START + b"Content-Length : 18\r\n\r\n",
        START + LENGTH + b" folded\r\n\r\n",
        START + LENGTH + b"A: b\nTransfer-Encoding: chunked\r\n\r\n",
        START + LENGTH + b"A: \x00\r\n\r\n",
        START + LENGTH + b"A: \xe9\r\n\r\n",
        START + LENGTH + b"no field\r\n\r\n",
        START + LENGTH + b"".join(b"X-%d: y\r\n" % i for i in range(MOST_FIELDS)) + b"\r\n",
    ],
)
def test_anything_else_is_left_to_aiohttp(head):
    assert read_head(head) is None


def test_a_request_is_followed_through_the_parts_of_its_body():
    framing = RequestFraming()
    head, missing = framing.follow(WHOLE[:-10])
    assert head is not None
    assert missing == 10
    assert framing.follow(WHOLE[-10:-4]) == (None, 0)
    assert framing.follow(WHOLE[-4:]) == (None, 0)
    assert framing.follow(WHOLE) == (head, 0)


def test_a_request_can_be_repeated_with_the_rest_of_its_body():
    framing = RequestFraming()
    framing.follow(WHOLE[:-10])
    framing.repeat()
    head, missing = framing.follow(WHOLE)
    assert head is not None
    assert missing == 0


@pytest.mark.parametrize(
    "first",
    [
        WHOLE + WHOLE,
        WHOLE + b"P",
        WHOLE[:30],
        b"GET / HTTP/1.0\r\n\r\n",
        START + LENGTH + b"A: " + b"b" * MOST_HEAD + b"\r\n\r\n" + BODY,
    ],
)
def test_nothing_is_followed_after_data_that_is_not_one_plain_request(first):
    framing = RequestFraming()
    for data in (first, WHOLE, WHOLE):
        assert framing.follow(data) == (None, 0)


def test_nothing_is_followed_after_more_than_the_rest_of_a_body():
    framing = RequestFraming()
    framing.follow(WHOLE[:-10])
    for data in (WHOLE[-10:] + WHOLE, WHOLE):
        assert framing.follow(data) == (None, 0)
