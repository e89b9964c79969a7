"""Latents as the model leaves them, beside the drawings that they are of, so that the decoder can be trained on what it will be given.

    python denoised.py DATA AUTOENCODER.pt DIT.pt OUT.npz [--first 0] [--count 1500] [--starts 5 6 7]

Drawings of DATA (dataset.py) are encoded, get so much noise as their layout outlasts, and go the rest of the way as the model's pictures do, with a caption of
their own. OUT.npz holds the latents and the drawings' numbers in DATA/square.npy. With `--starts 0`, which is noise alone, a picture shares only the
caption with its drawing.
"""

import argparse
import pathlib

import numpy as np
import torch

import tokens
from captions import caption
from dataset import SEEDS, scene_of
from model import Autoencoder
from sampling import sample, sigmas
from train import load, precision

STARTS = (5, 6, 7)  # of the eight steps, from which the model goes on: noise levels 0.64, 0.5 and 0.3, under which a layout stays
STEPS = 8
BATCH = 20


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("data", "autoencoder", "dit", "out"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--first", type=int, default=0, help="number of the first drawing")
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--starts", type=int, nargs="+", default=STARTS, help="steps from which the model goes on, in turn")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    autoencoder, (model, _) = Autoencoder.load(arguments.autoencoder).eval(), load(arguments.dit)
    model.eval()
    kind, pictures = precision("cpu"), np.load(arguments.data / "square.npy", mmap_mode="r")
    by_padding = {}
    for number in range(arguments.first, min(arguments.first + arguments.count, len(pictures))):
        rng = np.random.default_rng((SEEDS["square"], number))
        text = caption(scene_of(rng, number), rng)
        by_padding.setdefault(tokens.padded(len(tokens.tokens(text))), []).append((number, text))
    numbers, found, levels = [], [], sigmas(STEPS)
    for group in by_padding.values():
        for first in range(0, len(group), BATCH):
            chosen, texts = zip(*group[first : first + BATCH])
            batch = torch.from_numpy(pictures[list(chosen)]).permute(0, 3, 1, 2).float().div_(255)
            start = arguments.starts[first // BATCH % len(arguments.starts)]
            x = autoencoder.encode(batch)
            x = torch.lerp(x, torch.randn_like(x), levels[start])
            with torch.autocast("cpu", kind, enabled=kind != torch.float32):
                x = sample(model, list(texts), x, STEPS, 1.0, first=start)
            numbers.extend(chosen)
            found.append(x.half().numpy())
    np.savez(arguments.out, numbers=np.array(numbers), latents=np.concatenate(found))


if __name__ == "__main__":
    main()
