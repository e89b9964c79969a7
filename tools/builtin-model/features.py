"""Trains the small network whose features distance.py compares: it names everything that a Scene holds from its picture.

    python features.py OUT.safetensors [--minutes 10] [--workers 1] [--device cpu]

Drawings only, each seen once, of seeds that neither training nor evaluation uses; half of them are wide scenes. A run goes on from OUT.safetensors if it is there; OUT.csv is the curve:
loss and the share of attributes named rightly in pictures that were not trained on yet.
"""

import argparse
import collections
import csv
import itertools
import multiprocessing
import os
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import nn

from draw import draw
from scenes import COLOURS, FOREGROUNDS, LANDS, MOODS, SEASONS, STYLES, SUBJECTS, TIMES, WATERS, Scene, sample_scene, sample_wide_scene
from train import precision

SEED = 30
SIDE = 256
WIDTHS = (24, 48, 96, 128, 128)
YES = (False, True)
ATTRIBUTES = {
    "time": TIMES, "mood": MOODS, "land": LANDS, "water": WATERS, "colour": (None, *COLOURS), "season": (None, *SEASONS), "foreground": FOREGROUNDS,
    "vegetation": ("none", "pines", "trees", "flowers"), "snow": YES, "sun": YES, "moon": YES, "stars": YES, "aurora": YES,
    "subject": ("none", *SUBJECTS), "style": ("none", *STYLES), "rain": YES, "rainbow": YES,
}  # fmt: skip
WIDE = ("subject", "style", "rain", "rainbow")  # what only wide scenes have
BATCH = 25


class Stage(nn.Module):
    """Halves the picture, then a residual block."""

    def __init__(self, inward: int, outward: int):
        super().__init__()
        self.down = nn.Conv2d(inward, outward, 3, 2, 1)
        self.norm = nn.GroupNorm(8, outward)
        self.block = nn.Conv2d(outward, outward, 3, 1, 1)

    def forward(self, x):
        x = F.silu(self.norm(self.down(x)))
        return x + F.silu(self.block(x))


class Features(nn.Module):
    """Means and deviations over the picture of the last stage: 256 numbers for pictures [batch, 3, 256, 256] in 0..1."""

    def __init__(self):
        super().__init__()
        self.stages = nn.Sequential(*(Stage(a, b) for a, b in itertools.pairwise((3, *WIDTHS))))
        self.heads = nn.ModuleDict({name: nn.Linear(2 * WIDTHS[-1], len(values)) for name, values in ATTRIBUTES.items()})

    def forward(self, pictures):
        x = self.stages(pictures * 2 - 1)
        return torch.cat([x.mean((2, 3)), x.std((2, 3))], dim=1)

    def of(self, pictures: np.ndarray) -> torch.Tensor:
        """Features of bytes [count, 256, 256, 3]."""
        with torch.inference_mode():
            batches = [torch.from_numpy(pictures[start : start + BATCH]).permute(0, 3, 1, 2).float().div_(255) for start in range(0, len(pictures), BATCH)]
            return torch.cat([self(batch) for batch in batches])

    def values(self, pictures: np.ndarray) -> dict[str, list]:
        """The value of each attribute that each picture shows."""
        found = self.of(pictures)
        with torch.inference_mode():
            return {name: [ATTRIBUTES[name][number] for number in head(found).argmax(1).tolist()] for name, head in self.heads.items()}

    @classmethod
    def load(cls, path) -> "Features":
        model = cls()
        model.load_state_dict({name: tensor.float() for name, tensor in load_file(path).items()})
        return model

    def save(self, path: pathlib.Path):
        save_file({name: tensor.detach().cpu().half().contiguous() for name, tensor in self.state_dict().items()}, path)


def wide_things(scene: Scene) -> dict:
    """The attributes of a scene that only wide ones have, with their values."""
    return {name: getattr(scene, name) for name in WIDE if getattr(scene, name) != ATTRIBUTES[name][0]}


def example(index: int):
    """A picture and the number of each attribute's value in it."""
    rng = np.random.default_rng((SEED, index))
    scene = (sample_scene, sample_wide_scene)[index // 2 % 2](rng)
    picture = draw(scene, SIDE, SIDE)
    return picture[:, ::-1].copy() if index % 2 else picture, [values.index(getattr(scene, name)) for name, values in ATTRIBUTES.items()]


def batches(pool, seen: int, count: int):
    """Batches of examples for ever, a few of them drawn ahead."""
    ahead = collections.deque()
    while True:
        while len(ahead) < 8:
            ahead.append(pool.map_async(example, range(seen, seen + count), chunksize=4))
            seen += count
        yield zip(*ahead.popleft().get())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    kind = precision(arguments.device)
    model = Features.load(arguments.out) if arguments.out.exists() else Features()
    model.to(arguments.device, memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.02)
    curve = arguments.out.with_suffix(".csv")
    rows = curve.read_text().split() if curve.exists() else []
    seen = int(rows[-1].split(",")[0]) if rows else 0
    began, rows = time.time(), []
    with multiprocessing.get_context("spawn").Pool(arguments.workers) as pool, open(curve, "a", newline="") as log:
        for pictures, values in batches(pool, seen, arguments.batch):
            elapsed = (time.time() - began) / 60
            if elapsed >= arguments.minutes:
                break
            for group in optimiser.param_groups:
                group["lr"] = 1e-3 * min(1.0, 2 * (1 - elapsed / arguments.minutes))
            batch = torch.from_numpy(np.stack(pictures)).to(arguments.device).permute(0, 3, 1, 2).float().div_(255)
            wanted = torch.tensor(values, device=arguments.device)
            with torch.autocast(arguments.device, kind, enabled=kind != torch.float32):
                found = model(batch)
            scores = [head(found.float()) for head in model.heads.values()]
            loss = sum(F.cross_entropy(score, wanted[:, n]) for n, score in enumerate(scores)) / len(scores)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            right = torch.stack([score.argmax(1) == wanted[:, n] for n, score in enumerate(scores)]).float().mean()
            seen += arguments.batch
            rows.append((loss.item(), right.item()))
            if len(rows) == 20:
                means = np.mean(rows, axis=0)
                csv.writer(log).writerow([seen, round(means[0], 4), round(means[1], 4)])
                log.flush()
                print(f"{seen} pictures  loss {means[0]:.3f}  right {means[1]:.3f}", flush=True)
                model.save(arguments.out)
                rows = []
        pool.terminate()
    model.save(arguments.out)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
