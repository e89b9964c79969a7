"""Trains the tiny autoencoder (both halves) on the drawn pictures.

    python train_autoencoder.py DATA OUT.pt [--minutes 10] [--decoder-of FILE.pt]

Loss: L1, L1 of the picture's gradients at two scales, and a pull of each latent channel towards mean 0 and deviation 1. Noise is added to the
latents while training, so that the decoder forgives small errors and the DiT need not model what cannot be seen. A run goes on from OUT.pt if it
is there; OUT.csv is the loss curve. `--decoder-of` goes on with another run's decoder alone: its encoder is left as it is, so that a DiT that was trained on
its latents goes on fitting. Channels last and F32: on two cores without AMX this beats BF16.
"""

import argparse
import csv
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F

from model import Autoencoder
from muon import Muon, schedule

NOISE = 0.15


def crops(pictures, rng, count: int, size: int) -> torch.Tensor:
    """`count` random square crops [count, 3, size, size] in 0..1, a third of them of the picture at half size, mirrored half the time."""
    out = np.empty((count, size, size, 3), np.float32)
    for n in range(count):
        source = pictures[rng.integers(len(pictures))]
        picture = source[rng.integers(len(source))]
        half = rng.random() < 1 / 3
        side = size * 2 if half else size
        side = min(side, *picture.shape[:2]) // 2 * 2
        y, x = (rng.integers(0, edge - side + 1) for edge in picture.shape[:2])
        piece = picture[y : y + side, x : x + side].astype(np.float32)
        if half and side == size * 2:
            piece = piece.reshape(size, 2, size, 2, 3).mean((1, 3))
        piece = piece[:size, :size]
        out[n] = piece[:, ::-1] if rng.random() < 0.5 else piece
    return torch.from_numpy(out).permute(0, 3, 1, 2).div_(255).contiguous(memory_format=torch.channels_last)


def gradients(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Mean L1 between the neighbours' differences of two pictures, along both axes."""
    down = (x.diff(dim=2) - y.diff(dim=2)).abs().mean()
    return down + (x.diff(dim=3) - y.diff(dim=3)).abs().mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--decoder-of", type=pathlib.Path)
    parser.add_argument("--batches", type=int, default=1, help="factor on the batch sizes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    device = arguments.device
    torch.manual_seed(arguments.seed)
    rng = np.random.default_rng(arguments.seed)
    pictures = [np.load(path, mmap_mode="r") for path in sorted(arguments.data.glob("*.npy"))]
    model = Autoencoder.load(arguments.decoder_of) if arguments.decoder_of else Autoencoder()
    if arguments.decoder_of:
        model.encoder.requires_grad_(False)
    model.to(device, memory_format=torch.channels_last)
    trained = [p for p in model.parameters() if p.requires_grad]
    kernels = [p for p in trained if p.ndim == 4 and min(p.shape[:2]) > 3]
    rest = [p for p in trained if not any(p is k for k in kernels)]
    optimisers = [(Muon(kernels, lr=1.5e-3), 1.5e-3), (torch.optim.Adam(rest, lr=1.5e-3, betas=(0.9, 0.98)), 1.5e-3)]
    spent = 0.0
    if arguments.out.exists():
        saved = torch.load(arguments.out, map_location=device)
        model.load_state_dict(saved["model"])
        spent = saved["spent"]
    budget = arguments.minutes * 60
    began = time.time() - spent
    log = open(arguments.out.with_suffix(".csv"), "a", newline="")
    writer = csv.writer(log)
    step, means = 0, []

    def save():
        torch.save({"model": model.state_dict(), "layout": model.layout, "spent": time.time() - began}, arguments.out)

    while (elapsed := time.time() - began) < budget:
        size, count = (64, 24) if elapsed < budget * 0.85 else (128, 6)
        factor = schedule(int(elapsed), int(budget), 20, 0.6)
        for optimiser, rate in optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate * factor
        batch = crops(pictures, rng, count * arguments.batches, size).to(device)
        latents = model.encode(batch)
        seen = model.decode(latents + NOISE * torch.randn_like(latents))
        small, small_seen = F.avg_pool2d(batch, 2), F.avg_pool2d(seen, 2)
        moments = latents.mean((0, 2, 3)).pow(2).mean() + (latents.var((0, 2, 3)).add(1e-4).sqrt() - 1).pow(2).mean()
        flat = (seen - batch).abs().mean()
        loss = flat + (small_seen - small).abs().mean() + gradients(seen, batch) + gradients(small_seen, small) + 0.1 * moments
        for optimiser, _ in optimisers:
            optimiser.zero_grad()
        loss.backward()
        for optimiser, _ in optimisers:
            optimiser.step()
        means.append((loss.item(), flat.item(), (seen - batch).pow(2).mean().item(), moments.item()))
        step += 1
        if step % 25 == 0:
            row = [round(float(v), 5) for v in np.mean(means, axis=0)]
            psnr = -10 * np.log10(row[2])
            writer.writerow([step, round(time.time() - began, 1), *row])
            log.flush()
            print(f"{time.time() - began:6.0f} s  step {step}  loss {row[0]:.4f}  L1 {row[1]:.4f}  PSNR {psnr:.2f}  moments {row[3]:.4f}", flush=True)
            means = []
        if step % 200 == 0:
            save()
    save()


if __name__ == "__main__":
    main()
