"""SD1.5's UNet and the decoder of its VAE with random weights: the layers' shapes and order of Rombach et al., "High-Resolution Image
Synthesis with Latent Diffusion Models" (2022), as in v1-5-pruned-emaonly. For timing; the names are not those of a checkpoint.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

HEADS = 8
CONTEXT = 768
TIME = 1280


def attend(q, k, v, heads: int):
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


class Residual(nn.Module):
    def __init__(self, inward: int, outward: int, time: bool = True, eps: float = 1e-5):
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(32, inward, eps), nn.SiLU(), nn.Conv2d(inward, outward, 3, padding=1))
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(TIME, outward)) if time else None
        self.second = nn.Sequential(nn.GroupNorm(32, outward, eps), nn.SiLU(), nn.Conv2d(outward, outward, 3, padding=1))
        self.skip = nn.Identity() if inward == outward else nn.Conv2d(inward, outward, 1)

    def forward(self, x, time=None):
        y = self.first(x)
        if self.time is not None:
            y = y + self.time(time)[..., None, None]
        return self.skip(x) + self.second(y)


class CrossAttention(nn.Module):
    def __init__(self, width: int, context: int):
        super().__init__()
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(context, width, bias=False)
        self.v = nn.Linear(context, width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x, context):
        return self.out(attend(self.q(x), self.k(context), self.v(context), HEADS))


class Transformer(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.GroupNorm(32, width, 1e-6)
        self.inward = nn.Conv2d(width, width, 1)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.itself = CrossAttention(width, width)
        self.words = CrossAttention(width, CONTEXT)
        self.gate = nn.Linear(width, 8 * width)
        self.down = nn.Linear(4 * width, width)
        self.outward = nn.Conv2d(width, width, 1)

    def forward(self, x, context):
        height = x.shape[2]
        y = self.inward(self.norm(x)).flatten(2).transpose(1, 2)
        z = self.norms[0](y)
        y = y + self.itself(z, z)
        y = y + self.words(self.norms[1](y), context)
        value, gate = self.gate(self.norms[2](y)).chunk(2, dim=-1)
        y = y + self.down(value * F.gelu(gate))
        return x + self.outward(y.transpose(1, 2).unflatten(2, (height, -1)))


class Down(nn.Conv2d):
    def __init__(self, width: int):
        super().__init__(width, width, 3, stride=2, padding=1)


class Up(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return self.conv(F.interpolate(x, scale_factor=2, mode="nearest"))


class Unet(nn.Module):
    def __init__(self, base: int = 320, multiples=(1, 2, 4, 4)):
        super().__init__()
        self.base = base
        self.time = nn.Sequential(nn.Linear(base, TIME), nn.SiLU(), nn.Linear(TIME, TIME))
        widths = [base]
        self.down = nn.ModuleList([nn.ModuleList([nn.Conv2d(4, base, 3, padding=1)])])
        width = base
        last = len(multiples) - 1
        for level, multiple in enumerate(multiples):
            for _ in range(2):
                layers = [Residual(width, base * multiple)]
                width = base * multiple
                if level < last:
                    layers.append(Transformer(width))
                self.down.append(nn.ModuleList(layers))
                widths.append(width)
            if level < last:
                self.down.append(nn.ModuleList([Down(width)]))
                widths.append(width)
        self.middle = nn.ModuleList([Residual(width, width), Transformer(width), Residual(width, width)])
        self.up = nn.ModuleList()
        for level, multiple in reversed(list(enumerate(multiples))):
            for block in range(3):
                layers = [Residual(width + widths.pop(), base * multiple)]
                width = base * multiple
                if level < last:
                    layers.append(Transformer(width))
                if level > 0 and block == 2:
                    layers.append(Up(width))
                self.up.append(nn.ModuleList(layers))
        self.out = nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, 4, 3, padding=1))

    def forward(self, x, time, context):
        half = self.base // 2
        angles = time[:, None] * torch.exp(-math.log(10000) * torch.arange(half) / half)
        time = self.time(torch.cat([angles.cos(), angles.sin()], dim=-1).to(x.dtype))

        def run(layers, x):
            for layer in layers:
                if isinstance(layer, Residual):
                    x = layer(x, time)
                elif isinstance(layer, Transformer):
                    x = layer(x, context)
                else:
                    x = layer(x)
            return x

        kept = []
        for layers in self.down:
            x = run(layers, x)
            kept.append(x)
        x = run(self.middle, x)
        for layers in self.up:
            x = run(layers, torch.cat([x, kept.pop()], dim=1))
        return self.out(x)


class VaeAttention(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.GroupNorm(32, width, 1e-6)
        self.q, self.k, self.v, self.out = (nn.Conv2d(width, width, 1) for _ in range(4))

    def forward(self, x):
        y = self.norm(x)
        q, k, v = (layer(y).flatten(2).transpose(1, 2) for layer in (self.q, self.k, self.v))
        return x + self.out(attend(q, k, v, 1).transpose(1, 2).unflatten(2, x.shape[2:]))


def vae_decoder() -> nn.Sequential:
    """Latents [batch, 4, height / 8, width / 8] to pictures [batch, 3, height, width]."""
    width = 512
    layers = [nn.Conv2d(4, 4, 1), nn.Conv2d(4, width, 3, padding=1)]
    layers += [Residual(width, width, False, 1e-6), VaeAttention(width), Residual(width, width, False, 1e-6)]
    for level, wanted in enumerate((512, 512, 256, 128)):
        for _ in range(3):
            layers.append(Residual(width, wanted, False, 1e-6))
            width = wanted
        if level < 3:
            layers.append(Up(width))
    return nn.Sequential(*layers, nn.GroupNorm(32, width, 1e-6), nn.SiLU(), nn.Conv2d(width, 3, 3, padding=1))
