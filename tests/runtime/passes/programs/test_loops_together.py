"""Loops that do not depend on each other run at the same time; what depends on them comes after both."""

import threading

import numpy as np
import pytest
from tests.runtime.programs import session_of

from tfport.errors import Error
from tfport.graph.dtypes import FLOAT32
from tfport.runtime.bounds.run_scope import RunLimits
from tfport.runtime.operand import Operand
from tfport.runtime.passes.programs.host_steps import loops_together
from tfport.runtime.program import Step

LOOPS = """
    n = Placeholder() {dtype=int32, shape=()}
    x = Placeholder() {dtype=float32, shape=(?, 3)}
    zero = Const() {dtype=int32, value=int32()[0]}
    a = While(zero, n, x) {T=[int32, int32, float32], cond=@go, body=@turn}
    b = While(zero, n, x) {T=[int32, int32, float32], cond=@go, body=@turn}
    c = While(zero, n, b:2) {T=[int32, int32, float32], cond=@go, body=@turn}
    y = Sub(a:2, c:2) {T=float32}
    def go(i: int32, n: int32, s: float32) -> (r: bool):
      c = Less(i, n) {T=int32}
      return r=c
    def turn(i: int32, n: int32, s: float32) -> (j: int32, m: int32, z: float32):
      one = Const() {dtype=int32, value=int32()[1]}
      next = AddV2(i, one) {T=int32}
      shape = Shape(s) {T=float32, out_type=int32}
      draw = RandomUniform(shape) {dtype=float32, T=int32, seed=5, seed2=1}
      last = Sub(draw, s) {T=float32}
      return j=next, m=n, z=last
"""
FEEDS = {"n:0": np.int32(4), "x:0": np.arange(6, dtype=np.float32).reshape(2, 3)}
PLANS = {  # a step: its name, what it reads; `!` is an effect, `?` an assertion, `*` a loop; then the order
    "two loops": ("*a:x *b:x", "a+b"),
    "one loop": ("*a:x c:a", "a c"),
    "one after another": ("*a:x *b:a", "a b"),
    "something between": ("*a:x c:x *b:c d:a", "c a+b d"),
    "something that waits": ("*a:x c:a *b:x d:c", "a+b c d"),
    "two pairs": ("*a:x *b:x c:a,b *d:c *e:c", "a+b c d+e"),
    "an assertion between": ("?p:x *a:x ?q:x *b:x", "p q a+b"),
    "an effect between": ("*a:x !e:x *b:x", "a e b"),
    "an effect before": ("!e:x *a:x *b:x", "e a+b"),
    "an effect that waits": ("*a:x !e:a *b:x *c:x", "a e b+c"),
    "no loops": ("a:x !b:a", "a b"),
}


def steps_of(text):
    operands = {}

    def operand(name):
        return operands.setdefault(name, Operand(FLOAT32, (), name=name))

    for word in text.split():
        name, _, reads = word.partition(":")
        kind, name = (name[0], name[1:]) if name[0] in "!?*" else ("", name)
        op = "Assert" if kind == "?" else "While" if kind == "*" else "Other"
        step = Step(name, op, tuple(map(operand, reads.split(","))), (operand(name),), effect=kind != "")
        if kind == "*":
            step.prepare = lambda arrays: lambda: arrays
        yield step


@pytest.mark.parametrize("name", PLANS)
def test_the_order_of_steps(name):
    text, order = PLANS[name]
    made = loops_together(list(steps_of(text)))
    assert " ".join("+".join(o.name.split("#")[0] for o in step.outputs) for step in made) == order


def test_all_but_the_last_run_in_the_spare_thread():
    threads = {}
    steps = list(steps_of("*a:x *b:y"))
    for step in steps:

        def prepare(arrays, step=step):
            def rest():
                threads[step.name] = threading.current_thread().name
                return [f"{step.name} of {arrays[0]}"]

            return rest

        step.prepare = prepare
    (both,) = loops_together(steps)
    assert both.run(["x", "y"]) == ["a of x", "b of y"]
    assert threads == {"a": "tfport-spare", "b": threading.current_thread().name}


@pytest.mark.parametrize("limits", [RunLimits(), RunLimits(max_bytes=1 << 20)])
def test_the_same_numbers_as_one_after_another(limits):
    answers = [session_of(LOOPS, engine="onnxruntime", threads=threads, limits=limits) for threads in (1, 2)]
    for _ in range(3):
        one, two = (session.run("y:0", FEEDS) for session in answers)
        assert one.tobytes() == two.tobytes()
    assert answers[1].run("y:0", {**FEEDS, "n:0": np.int32(0)}).tolist() == np.zeros((2, 3)).tolist()


def test_an_error_of_a_loop():
    session = session_of(LOOPS, threads=2, limits=RunLimits(max_loop_iterations=3))
    with pytest.raises(Error, match="3 iterations"):
        session.run("y:0", FEEDS)
