"""A contender of `gpu.py`: PyTorch with networks of the same architecture, eager and as CUDA graphs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torchvision
from gpu_timing import BATCHES, each_model, median_ms, report
from torch import nn

TYPES = {"tf32": torch.float32, "float16": torch.float16}
VOCABULARY, WIDTH, HEADS, LAYERS, TOKENS = 20000, 256, 8, 6, 128


class Transformer(nn.Module):
    """The encoder of `runtime_models.transformer`."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, 10)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1)).softmax(-1)


class Layer(nn.Module):
    """Attention and two dense layers, each with a sum and a normalization."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.first, self.second = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, count, _ = x.shape
        q, k, v = self.project(x).view(batch, count, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(q, k, v)
        x = self.norms[0](x + self.out(attended.transpose(1, 2).reshape(batch, count, WIDTH)))
        return self.norms[1](x + self.second(nn.functional.gelu(self.first(x))))


class Words(nn.Module):
    """The two bidirectional LSTMs of `runtime_models.text_lstm`, from numbers of words on."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(2000, 64)
        self.first = nn.LSTM(64, 64, batch_first=True, bidirectional=True)
        self.second = nn.LSTM(128, 32, batch_first=True, bidirectional=True)
        self.head = nn.Linear(64, 2)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        _, (last, _) = self.second(self.first(self.embedding(words))[0])
        return self.head(last.transpose(0, 1).flatten(1)).softmax(-1)


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "mobilenet_v2": lambda: torchvision.models.mobilenet_v2(weights=None),
    "resnet50": lambda: torchvision.models.resnet50(weights=None),
    "efficientnet_b0": lambda: torchvision.models.efficientnet_b0(weights=None),
    "transformer": Transformer,
    "text_lstm": Words,
}
INTEGERS = {"transformer": (VOCABULARY, TOKENS), "text_lstm": (2000, 100)}


def example(name: str, batch: int, dtype: torch.dtype) -> torch.Tensor:
    """An input on the host."""
    if name in INTEGERS:
        limit, count = INTEGERS[name]
        return torch.randint(limit, (batch, count))
    return torch.rand(batch, 3, 224, 224).to(dtype).contiguous(memory_format=torch.channels_last)


@torch.inference_mode()
def measure(path: Path) -> None:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    for precision, dtype in TYPES.items():
        network: Any = NETWORKS[path.name]().eval().cuda().to(dtype)
        if path.name not in INTEGERS:
            network = network.to(memory_format=torch.channels_last)
        for batch in BATCHES:
            _measure(path, precision, network, example(path.name, batch, dtype), batch)


def _measure(path: Path, precision: str, network: Any, inputs: torch.Tensor, batch: int) -> None:
    there = inputs.cuda()

    def eager() -> None:
        network(there)
        torch.cuda.synchronize()

    times = {
        f"host_{batch}": median_ms(lambda: network(inputs.cuda()).cpu()),
        f"device_{batch}": median_ms(eager),
    }
    report(path, "PyTorch eager", precision, times)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = network(there)

    def replay() -> None:
        graph.replay()
        torch.cuda.synchronize()

    def from_host() -> None:
        there.copy_(inputs)
        graph.replay()
        outputs.cpu()

    times = {f"host_{batch}": median_ms(from_host), f"device_{batch}": median_ms(replay)}
    report(path, "PyTorch CUDA graph", precision, times)


if __name__ == "__main__":
    each_model(measure)
