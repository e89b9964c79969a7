"""Draws the pictures that train the autoencoder, as memory-mapped bytes, every other of a wide scene. (What trains the DiT is drawn by shards.py.)

    python dataset.py FOLDER [--square 4000] [--wide 1000] [--tall 500] [--workers 2]

FOLDER gets, for each aspect, `NAME.npy` (uint8 [count, height, width, 3]). A file that is already whole is left as it is.
"""

import argparse
import multiprocessing
import os
import pathlib
import time

import numpy as np

from draw import draw
from scenes import sample_scene, sample_wide_scene

ASPECTS = {"square": (256, 256), "wide": (320, 192), "tall": (192, 320)}  # width, height
CHUNK = 250
SEEDS = {"square": 1, "wide": 2, "tall": 3}  # held-out scenes use seeds of their own (evaluate.py)


def scene_of(rng, number: int):
    """The scene of a picture by its number: every other is a wide one."""
    return (sample_scene, sample_wide_scene)[number % 2](rng)


def _chunk(job):
    path, name, start, count = job
    width, height = ASPECTS[name]
    pictures = np.load(path, mmap_mode="r+")
    for index in range(start, min(start + CHUNK, count)):
        pictures[index] = draw(scene_of(np.random.default_rng((SEEDS[name], index)), index), width, height)
    return min(CHUNK, count - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    for name, count in (("square", 4000), ("wide", 1000), ("tall", 500)):
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, (width, height) in ASPECTS.items():
        count = getattr(arguments, name)
        path, drawing = arguments.folder / f"{name}.npy", arguments.folder / f"{name}.drawing"
        if path.exists() and len(np.load(path, mmap_mode="r")) == count:
            continue
        np.lib.format.open_memmap(drawing, "w+", np.uint8, (count, height, width, 3)).flush()
        began, made = time.time(), 0
        with multiprocessing.Pool(arguments.workers) as pool:
            for more in pool.imap_unordered(_chunk, [(drawing, name, start, count) for start in range(0, count, CHUNK)]):
                made += more
                print(f"{name}: {made} of {count}, {time.time() - began:.0f} s", flush=True)
        drawing.replace(path)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
