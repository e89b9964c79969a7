"""Draws the training set once: pictures as memory-mapped bytes and several captions for each.

    python dataset.py FOLDER [--square 18000] [--wide 4000] [--tall 2000] [--workers 2]

FOLDER gets, for each aspect, `NAME.npy` (uint8 [count, height, width, 3]) and `NAME.json` (a list of captions for each picture).
A file that is already whole is left as it is, so a stopped run goes on where it was.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import time

import numpy as np

ASPECTS = {"square": (256, 256), "wide": (320, 192), "tall": (192, 320)}  # width, height
CAPTIONS = 8
CHUNK = 250
SEEDS = {"square": 1, "wide": 2, "tall": 3}  # held-out scenes use seeds of their own (evaluate.py)


def _chunk(job):
    from captions import caption
    from draw import draw
    from scenes import sample_scene

    path, name, start, count = job
    width, height = ASPECTS[name]
    pictures = np.load(path, mmap_mode="r+")
    texts = []
    for index in range(start, min(start + CHUNK, count)):
        rng = np.random.default_rng((SEEDS[name], index))
        scene = sample_scene(rng)
        pictures[index] = draw(scene, width, height)
        texts.append([caption(scene, rng) for _ in range(CAPTIONS)])
    return start, texts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    for name, count in (("square", 18000), ("wide", 4000), ("tall", 2000)):
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, (width, height) in ASPECTS.items():
        count = getattr(arguments, name)
        done = arguments.folder / f"{name}.json"
        if done.exists() and len(json.loads(done.read_text())) == count:
            continue
        path = arguments.folder / f"{name}.npy"
        np.lib.format.open_memmap(path, "w+", np.uint8, (count, height, width, 3)).flush()
        began = time.time()
        with multiprocessing.Pool(arguments.workers) as pool:
            jobs = [(path, name, start, count) for start in range(0, count, CHUNK)]
            chunks = {}
            for start, texts in pool.imap_unordered(_chunk, jobs):
                chunks[start] = texts
                print(f"{name}: {sum(map(len, chunks.values()))} of {count}, {time.time() - began:.0f} s", flush=True)
        done.write_text(json.dumps([texts for start in sorted(chunks) for texts in chunks[start]]))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
