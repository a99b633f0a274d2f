"""The port for probes: its pages, and connections that are used again."""

import asyncio

from tfport.serve.rest.health_port import LIVE, READY, HealthPages, HealthPort

SOON = 0.1


def request(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


async def answer(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split()[0])
    return head.split()[1], await reader.readexactly(length)


def test_probes_are_answered_and_a_connection_can_wait_for_the_next():
    refused: list[str] = []
    pages = HealthPages(lambda: True)

    async def check() -> None:
        health = HealthPort(
            "127.0.0.1",
            0,
            pages.routes(),
            header_seconds=SOON,
            refused=lambda reason, _: refused.append(reason),
        )
        port = await health.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):
            writer.write(request(LIVE))
            assert await answer(reader) == (b"200", b'{"status": "live"}')
            other, half = await asyncio.open_connection("127.0.0.1", port)
            half.write(b"GET")  # answered when more time than for a header has passed
            assert (await answer(other))[0] == b"408"
            half.close()
        writer.write(request(READY))
        assert (await answer(reader))[0] == b"200"
        pages.stopping = True
        writer.write(request(READY))
        assert (await answer(reader))[0] == b"503"
        writer.write(request(LIVE))
        assert (await answer(reader))[0] == b"200"
        writer.close()
        await health.stop()

    asyncio.run(check())
    assert refused == ["header_timeout"] * 2
