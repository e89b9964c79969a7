"""Gives a DiT that was trained on one autoencoder's latents the first and last layer for another's.

    python transfer.py DATA OLD.pt NEW.pt DIT.pt OUT.pt

What is between them, and the text encoder, stays: most of what it knows is of scenes and not of latents. The new ends are the old ones behind or before the
linear map of patches, by least squares over drawings of DATA (dataset.py), that comes nearest to the other autoencoder's latents. Training must follow.
"""

import argparse
import pathlib

import numpy as np
import torch

from model import Autoencoder, patches
from train import save_weights

COUNT = 400
NOISE = 0.5  # deviation of the noise on the patches that are mapped: the DiT never sees them without


def linear_map(source: torch.Tensor, target: torch.Tensor, noise: float):
    """Weight and bias that bring patches [count, 64] with noise of this deviation nearest to those of `target`, and the share of their variance explained."""
    mean, aim = source.mean(0), target.mean(0)
    x, y = source - mean, target - aim
    weight = torch.linalg.solve(x.T @ x / len(x) + noise**2 * torch.eye(x.shape[1]), x.T @ y / len(x)).T
    return weight, aim - weight @ mean, 1 - float((y - x @ weight.T).pow(2).mean() / y.pow(2).mean())


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("data", "old", "new", "dit", "out"):
        parser.add_argument(name, type=pathlib.Path)
    arguments = parser.parse_args()
    pictures = np.load(arguments.data / "square.npy", mmap_mode="r")
    pictures = torch.from_numpy(pictures[:: len(pictures) // COUNT].copy()).permute(0, 3, 1, 2).float().div_(255)
    old, new = (
        torch.cat([patches(autoencoder.encode(batch)) for batch in pictures.split(20)]).flatten(0, 1)
        for autoencoder in (Autoencoder.load(path).eval() for path in (arguments.old, arguments.new))
    )
    saved = torch.load(arguments.dit, map_location="cpu")
    weights = dict(saved["ema"])
    into, shift, share_in = linear_map(new, old, NOISE)
    outward, _, share_out = linear_map(old, new, NOISE)
    print(f"{100 * share_in:.0f} % of the old latents' variance are in the new ones linearly, {100 * share_out:.0f} % of the new ones' in the old")
    first, last = "dit.x_embedder.weight", "dit.final_layer.linear.weight"
    weights["dit.x_embedder.bias"] = weights["dit.x_embedder.bias"] + weights[first] @ shift
    weights[first] = weights[first] @ into
    weights[last] = outward @ weights[last]
    weights["dit.final_layer.linear.bias"] = outward @ weights["dit.final_layer.linear.bias"]
    save_weights(arguments.out, weights, saved["shape"])


if __name__ == "__main__":
    main()
