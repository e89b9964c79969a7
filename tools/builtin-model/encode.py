"""Turns drawn pictures into latents once, so that the DiT's training reads no pictures.

    python encode.py DATA AUTOENCODER.pt OUT --aspect square --halves 1 [--count 18000]

OUT gets `ASPECT-HALVES.npy`, float16 [count, 16, height, width] in latent pixels; `--halves 1` halves the picture first. Every other picture is
mirrored (captions name no sides).
"""

import argparse
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F

from model import LATENT_CHANNELS, Autoencoder

BATCH = 16


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("autoencoder", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--aspect", default="square")
    parser.add_argument("--halves", type=int, default=0)
    parser.add_argument("--count", type=int)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    model = Autoencoder.load(arguments.autoencoder)
    model.to(memory_format=torch.channels_last).eval()
    pictures = np.load(arguments.data / f"{arguments.aspect}.npy", mmap_mode="r")[: arguments.count]
    count, height, width, _ = pictures.shape
    scale = 8 * 2**arguments.halves
    latents = np.empty((count, LATENT_CHANNELS, height // scale, width // scale), np.float16)
    began = time.time()
    with torch.inference_mode():
        for start in range(0, count, BATCH):
            batch = torch.from_numpy(np.array(pictures[start : start + BATCH])).permute(0, 3, 1, 2).float().div_(255)
            batch[1::2] = batch[1::2].flip(3)
            for _ in range(arguments.halves):
                batch = F.avg_pool2d(batch, 2)
            encoded = model.encode(batch.contiguous(memory_format=torch.channels_last))
            latents[start : start + BATCH] = encoded.numpy().astype(np.float16)
            if start % (BATCH * 50) == 0:
                print(f"{start} of {count}, {time.time() - began:.0f} s", flush=True)
    np.save(arguments.out / f"{arguments.aspect}-{arguments.halves}.npy", latents)
    print(f"mean {latents.mean(dtype=np.float64):.3f}, deviation {latents.std(dtype=np.float64):.3f}")


if __name__ == "__main__":
    main()
