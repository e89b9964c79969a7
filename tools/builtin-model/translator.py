"""Learns to turn latents of one autoencoder into those of another, for reward.py with a student and a teacher that do not share theirs.

    python translator.py DATA FROM.pt TO.pt OUT.pt --student DIT.pt --minutes 2

From drawings of DATA (dataset.py) and, a third of the batches, from what the student makes, whose latents are not quite those of any drawing: those decode to a
picture, and the other autoencoder encodes that.
"""

import argparse
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from evaluate import decoded, held_out, latents_of
from model import LATENT_CHANNELS, Autoencoder
from muon import schedule
from shards import encoded
from train import load, precision

DRAWINGS, MADE, BATCH = 1200, 240, 24
FIRST_CAPTION = 2000  # of the held-out ones: none that are measured
SIDE, STEPS = 256, 8


class Translator(nn.Module):
    """Latents [batch, LATENT_CHANNELS, rows, columns] to others of the same form."""

    def __init__(self, inner: int = 64):
        super().__init__()
        self.linear = nn.Conv2d(LATENT_CHANNELS, LATENT_CHANNELS, 3, padding=1)
        self.rest = nn.Sequential(
            *(nn.Conv2d(LATENT_CHANNELS, inner, 3, padding=1), nn.SiLU(), nn.Conv2d(inner, inner, 3, padding=1), nn.SiLU()),
            *(nn.Conv2d(inner, inner, 3, padding=1), nn.SiLU(), nn.Conv2d(inner, LATENT_CHANNELS, 3, padding=1)),
        )
        nn.init.zeros_(self.rest[-1].weight)

    def forward(self, latents):
        return self.linear(latents) + self.rest(latents)


def load_translator(path: pathlib.Path) -> Translator:
    translator = Translator()
    translator.load_state_dict(torch.load(path, map_location="cpu"))
    return translator.eval().requires_grad_(False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("data", "source", "target", "out"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--student", type=pathlib.Path, required=True)
    parser.add_argument("--minutes", type=float, default=2)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    source, target = (Autoencoder.load(path).eval() for path in (arguments.source, arguments.target))
    drawings = np.load(arguments.data / "square.npy", mmap_mode="r")
    drawings = drawings[:: len(drawings) // DRAWINGS][:DRAWINGS].copy()
    student, _ = load(arguments.student)
    texts = [text for _, text, _ in held_out(FIRST_CAPTION + MADE)[FIRST_CAPTION:]]
    made = torch.cat([latents for _, latents in latents_of(student.eval(), texts, SIDE, STEPS, 1.0, kind=precision("cpu"))])
    pictures = [decoded(source, batch) for batch in made.split(BATCH)]
    made = (made, torch.from_numpy(encoded(target, np.concatenate(pictures), 0, "cpu")).float())
    drawn = tuple(torch.from_numpy(encoded(autoencoder, drawings, 0, "cpu")).float() for autoencoder in (source, target))
    held = tuple(tuple(side[-BATCH:] for side in pair) for pair in (drawn, made))
    translator = Translator()
    optimiser = torch.optim.Adam(translator.parameters(), lr=2e-3)
    began, step = time.time(), 0
    while time.time() < began + arguments.minutes * 60:
        for group in optimiser.param_groups:
            group["lr"] = 2e-3 * schedule(time.time() - began, arguments.minutes * 60, 1, 1.0)
        pair = made if step % 3 == 0 else drawn
        chosen = torch.from_numpy(rng.integers(0, len(pair[0]) - BATCH, BATCH))
        loss = F.mse_loss(translator(pair[0][chosen]), pair[1][chosen])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        step += 1
    with torch.inference_mode():
        shares = [1 - float(F.mse_loss(translator(a), b) / b.var()) for a, b in held]
    print(f"{step} steps; of the variance of latents of drawings {100 * shares[0]:.1f} %, of what the student makes {100 * shares[1]:.1f} %")
    torch.save(translator.state_dict(), arguments.out)


if __name__ == "__main__":
    main()
