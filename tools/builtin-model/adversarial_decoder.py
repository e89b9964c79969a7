"""Trains the decoder on against a discriminator, so that what a model leaves soft in its latents gets the edges that drawings have.

    python adversarial_decoder.py DATA OUT.pt --start AUTOENCODER.pt --paired PAIRED.npz --free FREE.npz --minutes 40

PAIRED.npz and FREE.npz are of denoised.py: latents that the model left where a drawing with noise was given, and where noise alone was. The encoder stays as it
is, so that a DiT that was trained on its latents goes on fitting. The decoder learns to give

- from latents of drawings: these, as in train_autoencoder.py;
- from paired latents: their drawings, in pixels and in the discriminator's features;
- from free latents: what the decoder of --start gives, as far as means of 8 x 8 pixels go;
- from paired and free ones: pictures that the discriminator takes for drawings.

The discriminator sees crops at several scales. What it is shown as drawings went through the autoencoder of --start, so that grain and the encoder's own
traces tell it nothing. The gradients on the pixels of the features and of the discriminator are brought to the size of
that of all the others together, times their weights. OUT.csv is the curve; the decoder
in OUT.pt is an exponential average. Sources: P. Esser et al., "Taming transformers for high-resolution image synthesis" (2021), a decoder trained against a
discriminator of patches; T. Wang et al., "High-resolution image synthesis and semantic manipulation with conditional GANs" (2018), its features compared.
"""

import argparse
import copy
import csv
import itertools
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from model import Autoencoder
from muon import Muon, kernels_and_rest, schedule
from train import clock, precision
from train_autoencoder import denoised_crops, gradients

SIDE = 128
TRUE, PAIRED, FREE = 4, 6, 6  # crops of a batch
MEANS = 8  # edge in pixels of the squares whose means a decoded picture keeps
AVERAGE = 0.995
WARM = 40  # steps in which the discriminator alone learns
COLUMNS = ("drawings", "paired", "means", "features", "adversary", "hinge of drawings", "hinge of made")


class Discriminator(nn.Module):
    """Logits, high for drawings, at steps of 4, 8 and 16 pixels, and the features that they come from, of pictures [batch, 3, height, width] in 0..1."""

    def __init__(self, widths: tuple[int, ...] = (24, 48, 96, 128)):
        super().__init__()

        self.enter = nn.Conv2d(3, widths[0], 3, 1, 1)
        self.downs = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, b, 4, 2, 1), nn.GroupNorm(8, b), nn.LeakyReLU(0.2)) for a, b in itertools.pairwise((*widths, widths[-1]))
        )
        self.logits = nn.ModuleList(
            nn.Sequential(nn.Conv2d(width, width, 3, 1, 1), nn.LeakyReLU(0.2), nn.Conv2d(width, 1, 3, 1, 1)) for width in (*widths[2:], widths[-1])
        )

    def forward(self, pictures):
        x, features = F.leaky_relu(self.enter(pictures * 2 - 1), 0.2), []
        for down in self.downs:
            x = down(x)
            features.append(x)
        return [head(feature).float() for head, feature in zip(self.logits, features[1:])], features


def mean_of(losses) -> torch.Tensor:
    return torch.stack([loss.mean() for loss in losses]).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--start", type=pathlib.Path, required=True)
    parser.add_argument("--paired", type=pathlib.Path, required=True)
    parser.add_argument("--free", type=pathlib.Path, required=True)
    parser.add_argument("--minutes", type=float, default=40)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--adversary", type=float, default=1.0, help="weight of the discriminator's opinion")
    parser.add_argument("--features", type=float, default=1.0, help="weight of its features")
    parser.add_argument("--pixels", type=float, default=0.4, help="weight of pixels where latents are paired")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    device, kind = arguments.device, precision(arguments.device)
    anchor = Autoencoder.load(arguments.start).eval().requires_grad_(False).to(device, memory_format=torch.channels_last)
    model, average, discriminator = copy.deepcopy(anchor), copy.deepcopy(anchor), Discriminator().to(device, memory_format=torch.channels_last)
    trained = list(model.decoder.requires_grad_().parameters())
    kernels, rest = kernels_and_rest(trained)
    optimisers = [Muon(kernels, lr=arguments.rate, kind=kind), torch.optim.Adam(rest, lr=arguments.rate, betas=(0.5, 0.98))]
    optimiser = torch.optim.Adam(discriminator.parameters(), lr=5e-4, betas=(0.5, 0.98))
    stored = {"raw": model, "average": average, "discriminator": discriminator, "its optimiser": optimiser, "kernels": optimisers[0], "rest": optimisers[1]}
    spent, step = 0.0, 0
    if arguments.out.exists():
        saved = torch.load(arguments.out, map_location="cpu")
        spent, step = saved["spent"], saved["step"]
        for name, state in stored.items():
            state.load_state_dict(saved["others"][name])
    torch.manual_seed(arguments.seed + step)
    rng = np.random.default_rng((arguments.seed, step))
    square = np.load(arguments.data / "square.npy", mmap_mode="r")
    (paired, paired_of), (free, free_of) = ((np.load(path)["latents"], np.load(path)["numbers"]) for path in (arguments.paired, arguments.free))
    began, budget, means = clock(device) - spent, arguments.minutes * 60, []

    def save():
        others = {name: state.state_dict() for name, state in stored.items()}
        temporary = arguments.out.with_suffix(".tmp")
        torch.save({"model": average.state_dict(), "layout": anchor.layout, "spent": clock(device) - began, "step": step, "others": others}, temporary)
        temporary.replace(arguments.out)

    def precise():
        return torch.autocast(torch.device(device).type, kind, enabled=kind != torch.float32)

    log = open(arguments.out.with_suffix(".csv"), "a", newline="")
    written = time.time()
    while clock(device) - began < budget:
        factor = schedule(int(clock(device) - began), int(budget), 60, 0.5)
        for each in optimisers:
            for group in each.param_groups:
                group["lr"] = arguments.rate * factor
        made, drawn = (torch.cat(pair).to(device) for pair in zip(
            denoised_crops(square, paired, paired_of, rng, PAIRED, SIDE),
            denoised_crops(square, free, free_of, rng, FREE, SIDE),
        ))  # fmt: skip
        if rng.random() < 0.5:
            drawn = drawn.flip(3)
            made = made.flip(3)
        with precise():
            with torch.no_grad():
                true = anchor.encode(drawn).float()
                real = anchor.decode(true).float()
                soft = anchor.decode(made[PAIRED:]).float()
            seen = model.decode(torch.cat([true[:TRUE], made])).float()
        leaf = seen.detach().requires_grad_()
        exact, given = leaf[:TRUE], leaf[TRUE:]
        near, new = given[:PAIRED], given[PAIRED:]
        truth = drawn[:TRUE]
        with precise():
            logits, features = discriminator(given)
            with torch.no_grad():
                _, wanted = discriminator(real[:PAIRED])
        faithful = (exact - truth).abs().mean() + gradients(exact, truth)
        same = (near - drawn[:PAIRED]).abs().mean() + 0.5 * gradients(near, drawn[:PAIRED])
        coarse = (F.avg_pool2d(new, MEANS) - F.avg_pool2d(soft, MEANS)).abs().mean()
        alike = mean_of([(a[:PAIRED].float() - b.float()).abs() / (b.float().abs().mean() + 1e-3) for a, b in zip(features, wanted)])
        fooled = mean_of([-logit for logit in logits])
        (plain,) = torch.autograd.grad(faithful + arguments.pixels * same + 4 * coarse, leaf, retain_graph=True)
        size, force = plain.norm(), torch.zeros_like(plain)
        for weight, term, last in ((arguments.features, alike, False), (arguments.adversary, fooled, True)):
            (gradient,) = torch.autograd.grad(term, leaf, retain_graph=not last)
            force += weight * size / (gradient.norm() + 1e-12) * gradient
        if step >= WARM:
            for each in optimisers:
                each.zero_grad()
            seen.backward(plain + force)
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            for each in optimisers:
                each.step()
            torch._foreach_lerp_(list(average.decoder.parameters()), trained, 1 - AVERAGE)

        with precise():
            logits, _ = discriminator(torch.cat([real, given.detach()]))
        parts = [mean_of([F.relu(1 - logit[: len(real)]) for logit in logits]), mean_of([F.relu(1 + logit[len(real) :]) for logit in logits])]
        optimiser.zero_grad()
        sum(parts).backward()
        optimiser.step()

        means.append(torch.stack([loss.detach() for loss in (faithful, same, coarse, alike, fooled, *parts)]))
        step += 1
        if step % 25 == 0:
            row = [round(mean, 4) for mean in torch.stack(means).mean(0).tolist()]
            csv.writer(log).writerow([step, round(clock(device) - began, 1), *row])
            log.flush()
            print(f"{clock(device) - began:6.0f} s  step {step}  " + "  ".join(f"{column} {mean:.3f}" for column, mean in zip(COLUMNS, row)), flush=True)
            means = []
        if time.time() - written > 120:
            save()
            written = time.time()
    save()


if __name__ == "__main__":
    main()
