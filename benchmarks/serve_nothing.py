"""Processes that read requests and send an empty answer: `python serve_nothing.py PROCESSES`.

They share a gRPC port as the front ends of `tfport serve` do, and print it. What clients reach with them is
what gRPC for Python and the cores leave for any server.
"""

import asyncio
import multiprocessing
import socket
import sys

import grpc.aio

OPTIONS = (("grpc.max_receive_message_length", -1), ("grpc.so_reuseport", 1))


class Answers(grpc.GenericRpcHandler):
    """An empty message for any call."""

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        async def answer(request: bytes, context: grpc.aio.ServicerContext) -> bytes:
            return b""

        return grpc.unary_unary_rpc_method_handler(answer)


async def serve(port: int) -> None:
    server = grpc.aio.server(options=OPTIONS)
    server.add_generic_rpc_handlers((Answers(),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await server.wait_for_termination()


def run(port: int) -> None:
    asyncio.run(serve(port))


def main(processes: int) -> None:
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        children = [multiprocessing.Process(target=run, args=(port,), daemon=True) for _ in range(processes)]
        for child in children:
            child.start()
        print(port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(int(sys.argv[1]))
