"""Models of a small width: the shapes that people bring."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class LeNet(nn.Module):
    """Two convolutions with pools, three linear layers; images of 8 × 8."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 3, 3, padding=1)
        self.bn = nn.BatchNorm2d(3)
        self.pool = nn.MaxPool2d(2)
        self.conv2 = nn.Conv2d(3, 4, 3)
        self.average = nn.AvgPool2d(2)
        self.flatten = nn.Flatten()
        self.fc1 = nn.Linear(4, 6)
        self.drop = nn.Dropout(0.5)
        self.fc2 = nn.Linear(6, 5)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.pool(F.relu(self.bn(self.conv1(image))))
        x = self.average(F.relu(self.conv2(x)))
        x = self.drop(torch.tanh(self.fc1(self.flatten(x))))
        return F.log_softmax(self.fc2(x), dim=-1)


class ResNetBlock(nn.Module):
    """A basic block with a projection on the short path."""

    def __init__(self, inputs: int = 3, outputs: int = 4, stride: int = 2) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += self.downsample(x)
        return self.relu(y)


class ResNet18(nn.Module):
    """All eight blocks, of the published widths."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.pool = nn.MaxPool2d(3, 2, 1)
        blocks = []
        width = 64
        for outputs in (64, 128, 256, 512):
            for stride in (1 if outputs == 64 else 2, 1):
                block = ResNetBlock(width, outputs, stride)
                if stride == 1:
                    block.downsample = nn.Sequential()
                blocks.append(block)
                width = outputs
        self.layers = nn.Sequential(*blocks)
        self.average = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(512, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layers(self.pool(F.relu(self.bn1(self.conv1(x)))))
        return self.fc(self.average(x).flatten(1))


class MobileBlock(nn.Module):
    """A depthwise and a pointwise convolution, with a hard swish and a squeeze of the channels."""

    def __init__(self) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.pointwise = nn.Conv2d(4, 6, 1)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.gate = nn.Linear(6, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.hardswish(self.pointwise(self.depthwise(x)))
        gate = torch.sigmoid(self.gate(self.pool(y).flatten(1)))
        return y * gate[:, :, None, None]


class BertBlock(nn.Module):
    """Self-attention by PyTorch's own module, then a feed-forward network; norms behind."""

    def __init__(self, width: int = 8, heads: int = 2) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm1 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.norm2 = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        attended, _ = self.attention(x, x, x, need_weights=False)
        x = self.norm1(x + attended)
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class GptAttention(nn.Module):
    """Causal attention as GPT-2 writes it: one projection, split; a mask in a buffer."""

    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.register_buffer("bias", torch.ones(length, length).tril().view(1, 1, length, length))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.size()
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(width, dim=2)
        )
        scores = (q @ k.transpose(-2, -1)) / (width // self.heads) ** 0.5
        scores = scores.masked_fill(self.bias[:, :, :length, :length] == 0, float("-inf"))
        y = F.softmax(scores, dim=-1) @ v
        return self.proj(y.transpose(1, 2).contiguous().view(batch, length, width))


class GptBlock(nn.Module):
    def __init__(self, width: int = 8, heads: int = 2, length: int = 5) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = GptAttention(width, heads, length)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(approximate="tanh"), nn.Linear(2 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    """Token and position embeddings, blocks, and the weights of the embedding as the head."""

    def __init__(self, words: int = 11, width: int = 8, layers: int = 2, length: int = 5) -> None:
        super().__init__()
        self.wte = nn.Embedding(words, width)
        self.wpe = nn.Embedding(length, width)
        self.h = nn.ModuleList([GptBlock(width, 2, length) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.size(1))
        x = self.wte(tokens) + self.wpe(places)
        for block in self.h:
            x = block(x)
        return self.head(self.ln_f(x))


class LlamaBlock(nn.Module):
    """Grouped queries with rotary positions, RMS norms and a gated network."""

    def __init__(self, width: int = 8, heads: int = 4, shared: int = 2, length: int = 4) -> None:
        super().__init__()
        self.heads, self.shared, self.depth = heads, shared, width // heads
        self.norm1 = nn.RMSNorm(width, eps=1e-5)
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, shared * self.depth, bias=False)
        self.v = nn.Linear(width, shared * self.depth, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.norm2 = nn.RMSNorm(width, eps=1e-5)
        self.gate = nn.Linear(width, 3 * width, bias=False)
        self.up = nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def rotated(self, x: torch.Tensor) -> torch.Tensor:
        half = self.depth // 2
        rates = 10000.0 ** (-torch.arange(half, dtype=torch.float32) / half)
        angles = torch.outer(torch.arange(x.size(2), dtype=torch.float32), rates)
        cos, sin = (torch.cat([f(angles)] * 2, -1) for f in (torch.cos, torch.sin))
        turned = torch.cat([-x[..., half:], x[..., :half]], -1)
        return x * cos + turned * sin

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        y = self.norm1(x)
        q = self.q(y).view(batch, length, self.heads, self.depth).transpose(1, 2)
        k = self.k(y).view(batch, length, self.shared, self.depth).transpose(1, 2)
        v = self.v(y).view(batch, length, self.shared, self.depth).transpose(1, 2)
        y = F.scaled_dot_product_attention(
            self.rotated(q), self.rotated(k), v, is_causal=True, enable_gqa=True
        )
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, width))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Bert(nn.Module):
    """Embeddings of words, places and parts, a norm, blocks, and the first word's features."""

    def __init__(self, words: int = 11, width: int = 8, layers: int = 2, length: int = 5) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Embedding(length, width)
        self.parts = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList([BertBlock(width) for _ in range(layers)])
        self.pooler = nn.Linear(width, width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.size(1))
        x = self.words(tokens) + self.places(places) + self.parts(torch.zeros_like(places))
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x)
        return torch.tanh(self.pooler(x[:, 0]))


class Transposed(nn.Module):
    """A linear layer whose weights stand the other way round, as published GPT-2 has them."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
        return y.view(*x.shape[:-1], -1)


class SpelledGpt(nn.Module):
    """Two blocks of GPT-2 as published checkpoints' code has them: GELU from powers and a tanh."""

    def __init__(self, words: int = 11, width: int = 8, layers: int = 2, length: int = 5) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, width), nn.Embedding(length, width)
        self.h = nn.ModuleList([GptBlock(width, 2, length) for _ in range(layers)])
        for block in self.h:
            block.attn.qkv = Transposed(width, 3 * width)
            block.mlp = nn.Sequential(
                Transposed(width, 4 * width), NewGelu(), Transposed(4 * width, width)
            )
        self.ln_f = nn.LayerNorm(width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.size(1)))
        for block in self.h:
            x = block(x)
        return F.log_softmax(F.linear(self.ln_f(x), self.wte.weight), -1)


class NewGelu(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = 0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0))
        return 0.5 * x * (1.0 + torch.tanh(inner))


class SpelledNorm(nn.Module):
    """An RMS norm as published LLaMA code has it."""

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.to(torch.float32)
        variance = x.pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(variance + self.eps)).to(torch.float32)


class Llama(nn.Module):
    """Words, blocks with spelled-out norms, and a head."""

    def __init__(self, words: int = 11, width: int = 8, layers: int = 2, length: int = 4) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList([LlamaBlock(width, length=length) for _ in range(layers)])
        for layer in self.layers:
            layer.norm1, layer.norm2 = SpelledNorm(width), SpelledNorm(width)
        self.norm = SpelledNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Upscaling(nn.Module):
    """Transposed convolutions with and without groups, norms of groups, and other ways to a larger image."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(4, 6, 3, 2, 1, output_padding=1)
        self.norm = nn.GroupNorm(2, 6)
        self.down = nn.Conv2d(6, 8, 3, padding=1)
        self.grouped = nn.ConvTranspose2d(2, 4, 2, 2, groups=2)
        self.last = nn.Conv2d(4, 3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.silu(self.norm(self.up(x)))
        x = F.pixel_shuffle(F.relu(self.down(x)), 2)
        x = self.last(F.interpolate(self.grouped(x[..., :4, :4]), scale_factor=2).roll(1, 2))
        return F.log_softmax(x, 1)
