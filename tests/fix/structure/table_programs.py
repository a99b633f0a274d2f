"""Graphs with tables of every kind, filled from constants and read in one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

KEYS = 'keys = Const() {dtype=string, value=string(3)["a", "b", "c"]}'
VALUES = "values = Const() {dtype=int64, value=int64(3)[10, 20, 30]}"
DEFAULT = "default = Const() {dtype=int64, value=int64()[-1]}"
ASKED = "asked = Placeholder() {dtype=string, shape=(?, ?)}"
HEAD = "\n".join((KEYS, VALUES, DEFAULT, ASKED))
KINDS = "key_dtype=string, value_dtype=int64"
FIND = "{Tin=string, Tout=int64}"
FILL = "{Tkey=string, Tval=int64}"
FRAME = 'frame_name="loop", is_constant'

CONSTANT = f"""{HEAD}
t = HashTableV2() {{{KINDS}}}
init = InitializeTableV2(t, keys, values) {FILL}
y = LookupTableFindV2(t, asked, default, ^init) {FIND}
n = LookupTableSizeV2(t, ^init)
"""
BACKWARDS = """
keys = Const() {dtype=int64, value=int64(4)[3, -7, 0, 3]}
values = Const() {dtype=string, value=string(4)["three", "", "zero", "three"]}
default = Const() {dtype=string, value=string()["unknown"]}
asked = Placeholder() {dtype=int64, shape=(?)}
t = HashTableV2() {key_dtype=int64, value_dtype=string, _class=["loc:@keys"]}
init = InitializeTableV2(t, keys, values) {Tkey=int64, Tval=string}
same = Identity(t) {T=resource}
y = LookupTableFindV2(same, asked, default, ^init) {Tin=int64, Tout=string, _class=["loc:@t"]}
n = LookupTableSizeV2(t, ^init)
"""
MUTABLE = f"""{HEAD}
t = MutableHashTableV2() {{{KINDS}}}
init = LookupTableInsertV2(t, keys, values) {FIND}
y = LookupTableFindV2(t, asked, default, ^init) {FIND}
n = LookupTableSizeV2(t, ^init)
"""
TENSORS = f"""{HEAD}
rows = Const() {{dtype=int64, value=int64(3,2)[1, 2, 3, 4, 5, 6]}}
none = Const() {{dtype=int64, value=int64(2)[0, 0]}}
t = MutableHashTableOfTensorsV2() {{{KINDS}, value_shape=(2)}}
init = LookupTableImportV2(t, keys, rows) {FIND}
y = LookupTableFindV2(t, asked, none, ^init) {FIND}
n = LookupTableSizeV2(t, ^init)
"""
BRANCH = f"""{HEAD}
p = Placeholder() {{dtype=bool, shape=()}}
t = HashTableV2() {{{KINDS}}}
init = InitializeTableV2(t, keys, values) {FILL}
now = Identity(asked, ^init) {{T=string}}
st = Switch(t, p) {{T=resource}}
sa = Switch(now, p) {{T=string}}
sd = Switch(default, p) {{T=int64}}
found = LookupTableFindV2(st:1, sa:1, sd:1) {FIND}
other = LookupTableFindV2(st, sa, sd) {FIND}
less = Neg(other) {{T=int64}}
y = Merge(less, found) {{N=2, T=int64}}
n = LookupTableSizeV2(t, ^init)
"""
LOOP = f"""{HEAD}
t = HashTableV2() {{{KINDS}}}
init = InitializeTableV2(t, keys, values) {FILL}
turns = Const() {{dtype=int32, value=int32()[3]}}
zero = Const() {{dtype=int32, value=int32()[0]}}
start = Const() {{dtype=int64, value=int64()[0]}}
one = Const(^mi) {{dtype=int32, value=int32()[1]}}
ei = Enter(zero, ^init) {{T=int32, {FRAME}=false}}
es = Enter(start) {{T=int64, {FRAME}=false}}
en = Enter(turns) {{T=int32, {FRAME}=true}}
et = Enter(t) {{T=resource, {FRAME}=true}}
ea = Enter(asked) {{T=string, {FRAME}=true}}
ed = Enter(default) {{T=int64, {FRAME}=true}}
mi = Merge(ei, ni) {{N=2, T=int32}}
ms = Merge(es, ns) {{N=2, T=int64}}
less = Less(mi, en) {{T=int32}}
go = LoopCond(less)
si = Switch(mi, go) {{T=int32}}
ss = Switch(ms, go) {{T=int64}}
found = LookupTableFindV2(et, ea, ed, ^si) {FIND}
axes = Const(^si) {{dtype=int32, value=int32(2)[0, 1]}}
sum = Sum(found, axes) {{T=int64}}
more = Add(ss:1, sum) {{T=int64}}
next = Add(si:1, one) {{T=int32}}
ni = NextIteration(next) {{T=int32}}
ns = NextIteration(more) {{T=int64}}
y = Exit(ss) {{T=int64}}
n = Exit(si) {{T=int32}}
"""
LISTED = f"""{CONSTANT}
all = IdentityN(t, asked, t) {{T=[resource, string, resource]}}
u = Identity(all:2) {{T=resource}}
z = LookupTableFindV2(all, all:1, default, ^init) {FIND}
z2 = LookupTableFindV2(u, all:1, default, ^init) {FIND}
"""
ONLY = f"""{CONSTANT}
all = IdentityN(t) {{T=[resource]}}
z = LookupTableFindV2(all, asked, default, ^init) {FIND}
z2 = Identity(asked, ^all) {{T=string}}
"""
WORDS = np.array([[b"b", b"?"], [b"c", b"a"]], object)


@dataclass(frozen=True)
class Program:
    """A graph, its feeds and its fetches."""

    text: str
    feeds: dict[str, Any] = field(default_factory=lambda: {"asked:0": WORDS})
    fetches: tuple[str, ...] = ("y:0", "n:0")


PROGRAMS = {
    "constant": Program(CONSTANT),
    "empty": Program(CONSTANT, {"asked:0": np.empty((0, 2), object)}),
    "backwards": Program(BACKWARDS, {"asked:0": np.array([0, 5, -7, 3])}),
    "mutable": Program(MUTABLE),
    "tensors": Program(TENSORS),
    "branch": Program(BRANCH, {"asked:0": WORDS, "p:0": np.array(True)}),
    "other branch": Program(BRANCH, {"asked:0": WORDS, "p:0": np.array(False)}),
    "loop": Program(LOOP),
    "list": Program(LISTED, fetches=("z:0", "z2:0", "all:1")),
    "list of tables": Program(ONLY, fetches=("z:0", "z2:0")),
}
AS_CONSTANTS = ("constant", "empty", "backwards", "branch", "other branch", "loop", "list", "list of tables")
