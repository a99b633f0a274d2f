"""Bitwise ops, lowered to ONNX."""

from __future__ import annotations

from tfport.runtime.ops.shared.same_name import same_name

same_name("BitwiseAnd BitwiseOr BitwiseXor Invert:BitwiseNot")
