"""Messages between a front end and its server arrive as they were sent, however they are cut."""

import asyncio
import socket

import pytest

from tfport.serve.front_ends import messages
from tfport.serve.front_ends.messages import (
    MESSAGES,
    BlocksFree,
    CallAnswer,
    FrontEndCall,
    Listening,
    MessageConnection,
)

SENT = [
    Listening(),
    FrontEndCall(1, "s", "m", b"\x00data", {"x": (64, 3)}, {"k": "v"}, "ipv4:127.0.0.1:1", 4),
    CallAnswer(1, 0, b"x" * 100_000),
    CallAnswer(2, 3, "wrong"),
    BlocksFree(1),
]


def test_messages_arrive_in_order_with_their_types():
    async def exchange():
        ours, theirs = socket.socketpair()
        received, ended = [], asyncio.Event()
        sender = MessageConnection(received.append, ended.set)
        receiver = MessageConnection(received.append, ended.set)
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: sender, sock=ours)
        await loop.create_connection(lambda: receiver, sock=theirs)
        for message in SENT:
            sender.send(message)
        sender.close()
        await ended.wait()
        return received

    received = asyncio.run(exchange())
    assert received == SENT
    assert [type(message) for message in received] == [type(message) for message in SENT]


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_messages_that_come_in_pieces(size):
    class Pieces:
        data = b""

        def write(self, data):
            self.data += data

    async def exchange():
        pieces, received = Pieces(), []
        sender = MessageConnection(received.append, lambda: None)
        sender.connection_made(pieces)
        for message in [*SENT[:2], *SENT[3:]]:
            sender.send(message)
        sender.flush()
        receiver = MessageConnection(received.append, lambda: None)
        for at in range(0, len(pieces.data), size):
            receiver.data_received(pieces.data[at : at + size])
        return received

    assert asyncio.run(exchange()) == [*SENT[:2], *SENT[3:]]


def test_every_message_has_a_number():
    kinds = {kind for kind in vars(messages).values() if hasattr(kind, "_fields")}
    assert set(MESSAGES) == kinds
