"""Draws pictures and keeps their latents, layouts and captions only, in shards, for train.py.

    python shards.py AUTOENCODER.pt COMPLETION.npz SHARDS --count 24000 [--workers 1] [--large 8]

Shard N holds 500 pictures of one size: `N-WIDTHxHEIGHT.npy`, float16 [500, 16, height / 8, width / 8]; for squares of 256 the same pictures at half the
side in a second file; `N.layouts.npy`, float16, each layout's numbers, profiles and fields in one row; `N.parts.npy`, what each patch shows (parts.py); and
`N.json`, a list of captions for each picture, written last. Shards that are whole are left alone, so a stopped run goes on where it was, and training may begin
before the last one is there. With `--large 8` every eighth shard is one and a half times or twice as large, in all aspect ratios in turn.

A picture is drawn for a caption: of the scene that the caption and the picture's layout stand for (completion.py). Other captions are kept with it where they stand
for the same scene with this layout.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F

from completion import Completion, texts_of
from draw import compose
from exclusions import THINGS, exclusion
from layout import Layout
from model import Autoencoder
from parts import LabelledDrawing, coverage
from scenes import Scene, sample_scene, sample_wide_scene
from train import precision

SHARD = 500
CAPTIONS = 6
TRIED = 8  # captions that might stand for the same scene
WIDE = 0.22  # share of wide scenes
EMPTY = 0.03  # share of pictures for no words
EXCLUDING = 0.3  # share of captions that say what is not there
SEED = 50  # dataset.py and evaluate.py (held out) use others
BATCH = 20
# 1:1, 4:3, 3:2, 16:9 and upright, each of about 256 x 256 pixels. Seven shards of eight are square, of those that are large every other.
SQUARE = (256, 256)
OTHERS = ((304, 224), (224, 304), (320, 208), (208, 320), (336, 192), (192, 336))


def size_of(shard: int, large: int) -> tuple[int, int]:
    """Width and height of a shard's pictures: the edges are multiples of 16, a patch of the DiT. Every shard of `large` is larger, if it is not 0."""
    if large and shard % large == large - 1:
        turn, oblong = divmod(shard // large, 2)
        scale = (1.5, 2)[(turn + turn // len(OTHERS)) % 2]  # each shape in both sizes, though shapes and sizes are even in number
        return tuple(round(edge * scale / 16) * 16 for edge in (OTHERS[turn % len(OTHERS)] if oblong else SQUARE))
    turn, place = divmod(shard - shard // large if large else shard, 8)
    return OTHERS[turn % len(OTHERS)] if place == 3 else SQUARE


_completion = None  # of a worker: read once


def begin(completion: pathlib.Path):
    global _completion
    _completion = Completion.load(completion)


def excluding(text: str, scene: Scene, layout: Layout, rng) -> str:
    """What may follow a caption: that one to three things are not there, most of which the scene would show. What the caption asks for is not among them."""
    chosen, ending = [], ""
    for _ in range(1 + int(rng.integers(0, 6) > 2) + int(rng.integers(0, 6) > 4)):
        shown = rng.random() < 0.75
        things = [thing for thing in THINGS.values() if thing not in chosen and not thing.pattern.search(text) and thing.is_in(scene) == shown]
        if not things:
            continue
        thing = things[int(rng.integers(len(things)))]
        longer = f"{ending}, {exclusion(thing, rng)}"
        without = _completion.scene(text + longer, layout)
        if not any(one.is_in(without) for one in (*chosen, thing)):
            chosen.append(thing)
            ending = longer
    return ending


def drawn(job):
    """One picture [height, width, 3] of bytes, its layout, what its patches show, and its captions."""
    index, seed, width, height = job
    rng = np.random.default_rng((seed, index))
    layout = Layout.sample(rng, width, height)
    first = texts_of((sample_wide_scene if rng.random() < WIDE else sample_scene)(rng), rng, 2)
    text = "" if rng.random() < EMPTY or not first else first[int(rng.integers(len(first)))]
    scene, ending = _completion.scene(text, layout), ""
    if rng.random() < EXCLUDING:
        ending = excluding(text, scene, layout, rng)
        scene = _completion.scene(text + ending, layout)
    others = [other + ending * bool(rng.random() < 0.7) for other in texts_of(scene, rng, TRIED)] if text else []
    texts = [(text + ending).lstrip(", ")] + [other for other in others if _completion.scene(other, layout) == scene]
    canvas = LabelledDrawing(scene, width, height, layout)
    picture = compose(canvas)
    return picture, layout.flat().astype(np.float16), coverage(canvas.parts), texts[:CAPTIONS]


def jobs(shard: int, first: int, seed: int, large: int) -> list[tuple[int, int, int, int]]:
    """Numbers, seed and size of a shard's pictures. Shards of another seed, behind `first` others, go on with the turn of shapes."""
    return [(index, seed, *size_of(first + shard, large)) for index in range(shard * SHARD, (shard + 1) * SHARD)]


def encoded(model, pictures: np.ndarray, halves: int, device: str, kind: torch.dtype) -> np.ndarray:
    """Latents of bytes [count, height, width, 3], halved so often first."""
    latents = []
    with torch.inference_mode(), torch.autocast(device, kind, enabled=kind != torch.float32):
        for start in range(0, len(pictures), BATCH):
            batch = torch.from_numpy(pictures[start : start + BATCH]).to(device).permute(0, 3, 1, 2).float().div_(255)
            for _ in range(halves):
                batch = F.avg_pool2d(batch, 2)
            latents.append(model.encode(batch.contiguous(memory_format=torch.channels_last)).half().cpu().numpy())
    return np.concatenate(latents)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("autoencoder", type=pathlib.Path)
    parser.add_argument("completion", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=24000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--large", type=int, default=0, help="one shard of so many is larger; 0 for none")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--first", type=int, default=0, help="number of the first shard, behind those of another seed")
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    model = Autoencoder.load(arguments.autoencoder).to(arguments.device, memory_format=torch.channels_last).eval()
    kind, began = precision(arguments.device), time.time()

    def path(shard: int, ending: str) -> pathlib.Path:
        return arguments.folder / f"{arguments.first + shard:05}{ending}"

    missing = [shard for shard in range(-(-arguments.count // SHARD)) if not path(shard, ".json").exists()]
    with multiprocessing.get_context("spawn").Pool(arguments.workers, begin, (arguments.completion,)) as pool:

        def start(shard: int):
            return pool.map_async(drawn, jobs(shard, arguments.first, arguments.seed, arguments.large), chunksize=10)

        results = start(missing[0]) if missing else None
        for shard, following in itertools.zip_longest(missing, missing[1:]):
            pictures, layouts, shown, captions = zip(*results.get())
            results = following and start(following)  # drawn while this one is encoded
            pictures = np.stack(pictures)
            height, width = pictures.shape[1:3]
            for halves in range(1 + ((width, height) == SQUARE)):
                np.save(path(shard, f"-{width >> halves}x{height >> halves}.npy"), encoded(model, pictures, halves, arguments.device, kind))
            np.save(path(shard, ".layouts.npy"), np.stack(layouts))
            np.save(path(shard, ".parts.npy"), np.stack(shown))
            done = path(shard, ".json")
            temporary = done.with_suffix(".tmp")
            temporary.write_text(json.dumps(captions))
            temporary.replace(done)
            print(f"{(shard + 1) * SHARD} of {arguments.count}, {time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
