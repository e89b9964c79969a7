"""Trains the tiny autoencoder (both halves) on the drawn pictures.

    python train_autoencoder.py DATA OUT.pt [--minutes 25] [--start FILE.pt] [--decoder-of FILE.pt]

Loss: L1 and L1 of the picture's gradients at two scales, weighted by contrast, and a pull of the latents towards mean 0 and deviation 1. Noise is added to the latents while
training, so that the decoder forgives small errors and the DiT need not model what cannot be seen.

Latents are to be as easy to learn as pictures, most of whose energy is in what is large: what a latent has beside the mean of its neighbours is penalised
(`--smooth`), and latents at half the size are decoded to the picture at half the size. Without this two fifths of their energy were in the finest
details, which a DiT then has to learn too. Sources: T. Kouzelis et al., "EQ-VAE: equivariance regularized latent space for improved generative image modeling"
(2025); I. Skorokhodov et al., "Improving the diffusability of autoencoders" (2025).

A run goes on from OUT.pt if it is there, else from --start; OUT.csv is the loss curve. `--decoder-of` goes on with another run's decoder alone: its encoder is
left as it is, so that a DiT that was trained on its latents goes on fitting.
"""

import argparse
import csv
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F

from model import Autoencoder
from muon import Muon, kernels_and_rest, schedule
from train import precision

NOISE = 0.08
SIDE, CROPS = 96, 11  # of a batch


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


def weights(pictures: torch.Tensor) -> torch.Tensor:
    """How much a pixel's error counts, by the contrast around it: small things in dark or pale places are seen as well as mountains, and have little of it."""
    mean, square = (F.avg_pool2d(values, 15, 1, 7, count_include_pad=False) for values in (pictures, pictures * pictures))
    return (0.1 / (0.02 + (square - mean * mean).clamp(min=0).mean(1, keepdim=True).sqrt())).clamp(max=3)


def difference(x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Weighted L1 between two pictures and, along both axes, between their neighbours' differences."""
    off = x - y
    down = (off.diff(dim=2).abs() * weight[:, :, 1:]).mean()
    return (off.abs() * weight).mean() + down + (off.diff(dim=3).abs() * weight[..., 1:]).mean()


def detail_energy(latents: torch.Tensor) -> torch.Tensor:
    """Mean energy of what the latents have beside the means of their squares of 2 x 2 and, half as much, of those beside the means of 4 x 4."""
    half = F.avg_pool2d(latents, 2)
    quarter = F.avg_pool2d(half, 2)
    return (latents - F.interpolate(half, scale_factor=2)).pow(2).mean() + 0.5 * (half - F.interpolate(quarter, scale_factor=2)).pow(2).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=25)
    parser.add_argument("--start", type=pathlib.Path)
    parser.add_argument("--decoder-of", type=pathlib.Path)
    parser.add_argument("--smooth", type=float, default=0.02, help="weight of the energy of the latents' details")
    parser.add_argument("--halves", type=float, default=0.5, help="weight of latents at half the size")
    parser.add_argument("--rate", type=float, default=1.0, help="factor on the learning rates")
    parser.add_argument("--batches", type=int, default=1, help="factor on the batch sizes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    device = arguments.device
    torch.manual_seed(arguments.seed)
    rng = np.random.default_rng(arguments.seed)
    pictures = [np.load(path, mmap_mode="r") for path in sorted(arguments.data.glob("*.npy"))]
    start = arguments.decoder_of or arguments.start
    model = Autoencoder.load(start) if start else Autoencoder()
    kind = precision(device)
    if arguments.decoder_of:
        model.encoder.requires_grad_(False)
    model.to(device, memory_format=torch.channels_last)
    kernels, rest = kernels_and_rest(p for p in model.parameters() if p.requires_grad)
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
        factor = schedule(int(elapsed), int(budget), 20, 0.6) * arguments.rate
        for optimiser, rate in optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate * factor
        drawn = crops(pictures, rng, CROPS * arguments.batches, SIDE).to(device)
        half_drawn = F.avg_pool2d(drawn, 2)
        with torch.autocast(torch.device(device).type, kind, enabled=kind != torch.float32):
            latents = model.encode(drawn).float()
            half = F.avg_pool2d(latents, 2)
            seen = model.decode(latents + NOISE * torch.randn_like(latents)).float()
            half_seen = model.decode(half + NOISE * torch.randn_like(half)).float()
        moments = latents.mean((0, 2, 3)).pow(2).mean() + (latents.var().add(1e-4).sqrt() - 1).pow(2)
        details = detail_energy(latents)
        half_weights = weights(half_drawn)
        flat = (seen - drawn).abs().mean()
        loss = difference(seen, drawn, weights(drawn)) + difference(F.avg_pool2d(seen, 2), half_drawn, half_weights)
        loss = loss + arguments.halves * difference(half_seen, half_drawn, half_weights) + 0.1 * moments + arguments.smooth * details
        for optimiser, _ in optimisers:
            optimiser.zero_grad()
        loss.backward()
        for optimiser, _ in optimisers:
            optimiser.step()
        means.append((loss.item(), flat.item(), (seen - drawn).pow(2).mean().item(), moments.item(), details.item()))
        step += 1
        if step % 25 == 0:
            row = [round(float(v), 5) for v in np.mean(means, axis=0)]
            psnr = -10 * np.log10(row[2])
            writer.writerow([step, round(time.time() - began, 1), *row])
            log.flush()
            print(f"{time.time() - began:6.0f} s  step {step}  loss {row[0]:.4f}  L1 {row[1]:.4f}  PSNR {psnr:.2f}  moments {row[3]:.4f}  details {row[4]:.4f}", flush=True)
            means = []
        if step % 200 == 0:
            save()
    save()


if __name__ == "__main__":
    main()
