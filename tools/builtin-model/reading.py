"""How far a DiT draws what each number of the layout decides.

    python reading.py AUTOENCODER.pt COMPLETION.npz DIT.pt [DIT.pt ...]

Of held-out captions and their noise, one number is moved; where the drawing then is another one, what the model predicts from noise alone should change as the drawing does. In
the table is the slope of the one change over the other, over all pairs: 1 is to follow the number, 0 not to see it.
"""

import argparse
import dataclasses
import pathlib

import numpy as np
import torch

from completion import Completion
from draw import draw
from evaluate import held_out, layout_of, start_noise
from layout import NUMBERS
from model import Autoencoder, patches, unpatched
from sampling import encode, with_numbers
from train import load, precision

SIDE = 256
PAIRS = 24  # of drawings, for each number
CAPTIONS = 200  # at most


def pairs(completion: Completion, number: int):
    """Captions, their pictures' places among those held out, all numbers after the one is moved, and the drawings before and after."""
    found, rng = [], np.random.default_rng(number)
    for n, (_, text, _) in enumerate(held_out(CAPTIONS)):
        layout = layout_of(n, SIDE)
        moved = dataclasses.replace(layout, numbers=layout.numbers.copy())
        moved.numbers[number] = rng.standard_normal()
        before, after = (draw(completion.scene(text, it), SIDE, SIDE, it) for it in (layout, moved))
        if not np.array_equal(before, after):
            found.append((text, n, moved.numbers, before, after))
        if len(found) == PAIRS:
            break
    return found


@torch.inference_mode()
def predicted(model, text: str, noise: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    """The latents that the model sees in noise alone."""
    with torch.autocast("cpu", kind, enabled=kind != torch.float32):
        return noise + model["dit"](noise, torch.zeros(1), *encode(model, [text])).float()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("autoencoder", type=pathlib.Path)
    parser.add_argument("completion", type=pathlib.Path)
    parser.add_argument("dit", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    autoencoder, completion = Autoencoder.load(arguments.autoencoder).eval(), Completion.load(arguments.completion)
    models, rows, kind = [load(path)[0].eval() for path in arguments.dit], SIDE // 16, precision("cpu")
    table, unmoved = {}, {}
    for number, name in enumerate(NUMBERS):
        products, squares = np.zeros(len(models)), 0.0
        for text, n, numbers, *drawings in pairs(completion, number):
            with torch.inference_mode():
                before, after = (autoencoder.encode(torch.from_numpy(picture).permute(2, 0, 1)[None].float() / 255) for picture in drawings)
            noise = start_noise(n, SIDE)[None]
            moved = unpatched(with_numbers(patches(noise).unflatten(1, (rows, rows)), torch.from_numpy(numbers)[None]).flatten(1, 2), rows, rows)
            squares += float((after - before).pow(2).sum())
            for place, model in enumerate(models):
                if (place, n) not in unmoved:
                    unmoved[place, n] = predicted(model, text, noise, kind)
                change = predicted(model, text, moved, kind) - unmoved[place, n]
                products[place] += float((change * (after - before)).sum())
        if squares:  # some decide only what words must ask for
            table[name] = products / squares
    print(f"| | {' | '.join(table)} |\n|---{'|---' * len(table)}|")
    for place, path in enumerate(arguments.dit):
        print(f"| {path.stem} | {' | '.join(f'{slopes[place]:.2f}' for slopes in table.values())} |")


if __name__ == "__main__":
    main()
