"""PyTorch's side of `cargo xtask bench -- --cpu`: the rows that are named.

`pytorch.py f32|bf16 nchw|nhwc THREADS ROW...` writes a line `ROW<tab>VALUE` for each: GFLOP/s of a product or convolution,
milliseconds of attention, seconds of a part of a model. Rows have the names that the benchmark gives them.
"""

import pathlib
import sys

import torch
import torch.nn.functional as F

import stable_diffusion
from timing import best, tell

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools/builtin-model"))
import model as builtin  # noqa: E402


def random(*shape, dtype, layout=torch.contiguous_format):
    return torch.randn(*shape).to(dtype).contiguous(memory_format=layout)


def measure(row: str, dtype, layout, threads: int) -> float | None:
    kind, *rest = row.split()
    if kind == "product":
        features, tokens, depth = (int(number) for number in rest[:3])
        x, weights = random(tokens, depth, dtype=dtype), random(features, depth, dtype=dtype)
        return 2e-9 * features * tokens * depth / best(lambda: F.linear(x, weights), threads)
    if kind == "convolution":
        size, (inward, outward) = int(rest[0].split("x")[0]), (int(number) for number in rest[1].split(">"))
        x = random(1, inward, size, size, dtype=dtype, layout=layout)
        weights = random(outward, inward, 3, 3, dtype=dtype, layout=layout)
        return 2e-9 * size * size * inward * outward * 9 / best(lambda: F.conv2d(x, weights, padding=1), threads)
    if kind == "attention":
        size, tokens, heads = (int(number) for number in rest[:3])
        q, k, v = (random(1, heads, tokens, size, dtype=dtype) for _ in range(3))
        return 1e3 * best(lambda: F.scaled_dot_product_attention(q, k, v), threads)
    part, size = rest[0], int(rest[1])
    latent = size // 8
    if kind == "builtin" and part == "step":
        dit = builtin.Dit(builtin.Shape()).to(dtype)
        words, length = random(1, 32, 48, dtype=dtype), torch.tensor([8])
        x, moment = random(1, 16, latent, latent, dtype=dtype), torch.tensor([500.0])
        # The angles of positions are computed once, by the first call.
        dit.t_embedder = Cast(dit.t_embedder, dtype)
        return best(lambda: dit(x, moment, words, length), threads)
    if kind == "builtin":
        autoencoder = builtin.Autoencoder(64, 64, whole=True).to(dtype).to(memory_format=layout)
        x = random(1, 16, latent, latent, dtype=dtype, layout=layout)
        return best(lambda: autoencoder.decode(x), threads)
    if part == "step":
        unet = stable_diffusion.Unet().to(dtype).to(memory_format=layout)
        x, moment = random(1, 4, latent, latent, dtype=dtype, layout=layout), torch.tensor([500.0])
        context = random(1, 77, stable_diffusion.CONTEXT, dtype=dtype)
        return best(lambda: unet(x, moment, context), threads)
    decoder = stable_diffusion.vae_decoder().to(dtype).to(memory_format=layout)
    x = random(1, 4, latent, latent, dtype=dtype, layout=layout)
    return best(lambda: decoder(x), threads)


class Cast(torch.nn.Module):
    """A module with the weights of `inner` in f32, whose result has another type."""

    def __init__(self, inner, dtype):
        super().__init__()
        self.inner, self.dtype = inner.float(), dtype

    def forward(self, x):
        return self.inner(x).to(self.dtype)


def main():
    threads = int(sys.argv[3])
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[sys.argv[1]]
    layout = {"nchw": torch.contiguous_format, "nhwc": torch.channels_last}[sys.argv[2]]
    for row in sys.argv[4:]:
        tell(row, measure(row, dtype, layout, threads))


main()
