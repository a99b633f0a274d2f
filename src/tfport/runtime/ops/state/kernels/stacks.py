"""Stacks of tensors, which TF1 loops fill for their gradients."""

from __future__ import annotations

from typing import Any

from tfport.errors import RunFailed
from tfport.runtime.lower import host


class Stack:
    """A stack of tensors, new in each run."""

    def __init__(self, most: int) -> None:
        self.items: list[Any] = []
        self.most = most
        self.closed = False


@host("Stack")
def stack(*, elem_type, stack_name):
    return Stack(-1)


@host("StackV2")
def stack_v2(max_size, *, elem_type, stack_name):
    return Stack(int(max_size))


@host("StackPush StackPushV2")
def push(handle, elem, *, swap_memory):
    if handle.closed:
        raise RunFailed("the stack is closed")
    if 0 <= handle.most <= len(handle.items):
        raise RunFailed(f"the stack is full: max_size is {handle.most}")
    handle.items.append(elem)
    return elem


@host("StackPop StackPopV2")
def pop(handle, *, elem_type):
    if handle.closed or not handle.items:
        raise RunFailed("the stack is empty" if not handle.closed else "the stack is closed")
    return handle.items.pop()


@host("StackClose StackCloseV2")
def close(handle):
    handle.closed = True
    handle.items = []
