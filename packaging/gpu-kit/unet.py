"""Seconds that PyTorch takes for a step of SD1.5's UNet, and for its decoder, with random weights: `python3 unet.py SIDE...` (pixels), tab-separated rows."""

import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

WIDTHS, HEADS, CONTEXT, TIME = (320, 640, 1280, 1280), 8, 768, 1280


class Residual(nn.Module):
    def __init__(self, inputs, outputs, time=TIME):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(32, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time = nn.Linear(time, outputs) if time else None
        self.norm2, self.conv2 = nn.GroupNorm(32, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, time_, text):
        y = self.conv1(F.silu(self.norm1(x)))
        if self.time:
            y = y + self.time(F.silu(time_))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(y)))


class Attention(nn.Module):
    def __init__(self, width, context):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(inputs, width, bias=False) for inputs in (width, context, context))
        self.out = nn.Linear(width, width)

    def forward(self, x, text):
        heads = (it.unflatten(-1, (HEADS, -1)).transpose(1, 2) for it in (self.q(x), self.k(text), self.v(text)))
        return self.out(F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2))


class Transformer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.inner, self.outer = nn.GroupNorm(32, width), nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.own, self.cross = Attention(width, width), Attention(width, CONTEXT)
        self.up, self.down = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, x, time_, text):
        y = self.inner(self.norm(x)).flatten(2).transpose(1, 2)
        z = self.norms[0](y)
        y = y + self.own(z, z)
        y = y + self.cross(self.norms[1](y), text)
        value, gate = self.up(self.norms[2](y)).chunk(2, dim=-1)
        y = y + self.down(value * F.gelu(gate))
        return x + self.outer(y.transpose(1, 2).unflatten(2, x.shape[2:]))


class Resample(nn.Module):
    def __init__(self, width, up):
        super().__init__()
        self.up, self.conv = up, nn.Conv2d(width, width, 3, padding=1, stride=1 if up else 2)

    def forward(self, x, time_, text):
        return self.conv(F.interpolate(x, scale_factor=2.0) if self.up else x)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(320, TIME), nn.SiLU(), nn.Linear(TIME, TIME))
        self.first = nn.Conv2d(4, 320, 3, padding=1)
        self.down, self.up, kept, width = nn.ModuleList(), nn.ModuleList(), [320], 320
        for level, outputs in enumerate(WIDTHS):
            for _ in range(2):
                self.down.append(nn.ModuleList([Residual(width, outputs), *([Transformer(outputs)] if level < 3 else [])]))
                width = outputs
                kept.append(width)
            if level < 3:
                self.down.append(nn.ModuleList([Resample(width, False)]))
                kept.append(width)
        self.middle = nn.ModuleList([Residual(width, width), Transformer(width), Residual(width, width)])
        for level, outputs in reversed(list(enumerate(WIDTHS))):
            for block in range(3):
                parts = [Residual(width + kept.pop(), outputs), *([Transformer(outputs)] if level < 3 else [])]
                width = outputs
                self.up.append(nn.ModuleList([*parts, *([Resample(width, True)] if block == 2 and level > 0 else [])]))
        self.norm, self.last = nn.GroupNorm(32, 320), nn.Conv2d(320, 4, 3, padding=1)

    def forward(self, x, time_, text):
        time_, x = self.time(time_), self.first(x)
        kept = [x]
        for block in self.down:
            for part in block:
                x = part(x, time_, text)
            kept.append(x)
        for part in self.middle:
            x = part(x, time_, text)
        for block in self.up:
            x = torch.cat([x, kept.pop()], dim=1)
            for part in block:
                x = part(x, time_, text)
        return self.last(F.silu(self.norm(x)))


class Decoder(nn.Module):
    """SD1.5's VAE decoder; its blocks are the UNet's without time."""

    def __init__(self):
        super().__init__()
        block = lambda inputs, outputs: Residual(inputs, outputs, time=None)
        parts, width = [nn.Conv2d(4, 512, 3, padding=1), block(512, 512), PixelAttention(512), block(512, 512)], 512
        for level, outputs in enumerate((512, 512, 256, 128)):
            for _ in range(3):
                parts.append(block(width, outputs))
                width = outputs
            if level < 3:
                parts.append(Resample(width, True))
        self.parts = nn.ModuleList(parts)
        self.norm, self.last = nn.GroupNorm(32, 128), nn.Conv2d(128, 3, 3, padding=1)

    def forward(self, x):
        for part in self.parts:
            x = part(x) if isinstance(part, nn.Conv2d) else part(x, None, None)
        return self.last(F.silu(self.norm(x)))


class PixelAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.GroupNorm(32, width)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x, time_, text):
        y = self.norm(x).flatten(2).transpose(1, 2)
        y = F.scaled_dot_product_attention(*(it(y)[:, None] for it in (self.q, self.k, self.v)))[:, 0]
        return x + self.out(y).transpose(1, 2).unflatten(2, x.shape[2:])


def median_secs(call, on_card):
    """Of several calls, without the first."""
    times = []
    for _ in range(12 if on_card else 2):
        begun = time.perf_counter()
        call()
        if on_card:
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
    return sorted(times[1:])[len(times[1:]) // 2]


@torch.inference_mode()
def main():
    on_card = torch.cuda.is_available()
    place = torch.device("cuda" if on_card else "cpu")
    kind = torch.bfloat16 if on_card else torch.float32
    model = UNet().to(place, kind).to(memory_format=torch.channels_last)
    decoder = Decoder().to(place, kind).to(memory_format=torch.channels_last)
    count = sum(it.numel() for it in model.parameters())
    for side in map(int, sys.argv[1:]):
        x = torch.randn(1, 4, side // 8, side // 8, device=place, dtype=kind).to(memory_format=torch.channels_last)
        rest = torch.randn(1, 320, device=place, dtype=kind), torch.randn(1, 77, CONTEXT, device=place, dtype=kind)
        step, decode = (median_secs(call, on_card) for call in (lambda: model(x, *rest), lambda: decoder(x)))
        where = torch.cuda.get_device_name() if on_card else "the processor"
        print(f"PyTorch {torch.__version__}, SD1.5's UNet ({count / 1e6:.0f} M) and decoder, {side}, {kind}, {where}"
              f"\tstep {step:.4f} s, decode {decode:.4f} s\tpython3 unet.py {side}", flush=True)


if __name__ == "__main__":
    main()
