"""The options of operators that move a window over an image or a volume, which several of them share."""

from __future__ import annotations

from typing import Any

from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Windows2D:
    """How a window moves over an image."""

    padding: str
    stride_w: int
    stride_h: int
    fused_activation_function: str

    @property
    def strides(self) -> list[int]:
        """For the axes batch, height, width and channels."""
        return [1, self.stride_h, self.stride_w, 1]

    @property
    def attrs(self) -> dict[str, Any]:
        """As attributes of TensorFlow's ops."""
        return {"strides": self.strides, "padding": self.padding}


@dataclass(frozen=True, slots=True)
class Convolution2D(Windows2D):
    """How the window of a convolution moves over an image."""

    dilation_w_factor: int
    dilation_h_factor: int

    @property
    def dilations(self) -> list[int]:
        return [1, self.dilation_h_factor, self.dilation_w_factor, 1]

    @property
    def attrs(self) -> dict[str, Any]:
        return {"strides": self.strides, "padding": self.padding, "dilations": self.dilations}


@dataclass(frozen=True, slots=True)
class Pooling2D(Windows2D):
    """How the window of a pooling operator moves, and its size."""

    filter_width: int
    filter_height: int

    @property
    def ksize(self) -> list[int]:
        return [1, self.filter_height, self.filter_width, 1]


@dataclass(frozen=True, slots=True)
class Convolution3D(Convolution2D):
    """How the window of a convolution moves over a volume."""

    stride_d: int
    dilation_d_factor: int

    @property
    def strides(self) -> list[int]:
        """For the axes batch, depth, height, width and channels."""
        return [1, self.stride_d, self.stride_h, self.stride_w, 1]

    @property
    def dilations(self) -> list[int]:
        return [1, self.dilation_d_factor, self.dilation_h_factor, self.dilation_w_factor, 1]
