"""How far pictures lie outside the bounds that drawings with their captions have, and how many of the suns and moons that are asked for are missing or double.

    python outside.py AUTOENCODER.pt TEACHER.pt RANGES.pt MADE.npz [MADE.npz ...]

MADE.npz is what `evaluate.py --keep` wrote. AUTOENCODER is the teacher's. Each has a row, and the same captions' drawings have one
where they are not those of the file before.
"""

import argparse
import pathlib

import numpy as np
import torch

import tokens
from draw import draw
from evaluate import asked, held_out
from model import Autoencoder
from parts import NAMES, PARTS
from ranges import Contents, load_ranges
from sampling import token_batch
from shards import encoded
from train import precision

DISC = NAMES.index("disc")
MISSING, TOO_MUCH, APART = 0.3, 0.1, 0.2  # deviations outside from which a sun or moon counts as such: of drawings hardly any does


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("autoencoder", "teacher", "ranges"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("made", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    autoencoder, contents, ranges = Autoencoder.load(arguments.autoencoder).eval(), Contents(arguments.teacher), load_ranges(arguments.ranges)

    def outside(pictures: np.ndarray, texts: list[str]):
        """Deviations below and above the bounds, [pictures, CONTENTS] each."""
        torch.manual_seed(0)
        ids, lengths = token_batch([tokens.tokens(text) for text in texts])
        latents = torch.from_numpy(encoded(autoencoder, pictures, 0, "cpu")).float()
        kind = precision("cpu")
        with torch.inference_mode():
            with torch.autocast("cpu", kind, enabled=kind != torch.float32):
                shown = torch.cat([contents(batch).float() for batch in latents.split(25)])
            return ranges.below_and_above(shown, ids, lengths)

    print("| pictures | outside, deviations in all | suns and moons asked for | missing | too much of them | apart |\n|---|---|---|---|---|---|")
    scenes, before = {text: scene for scene, text, _ in held_out(2000)}, None
    for path in arguments.made:
        held = np.load(path)
        texts = list(map(str, held["texts"]))
        bright = torch.tensor([asked(scenes[text], text).get("light") == "sun or moon" for text in texts])
        rows = {path.stem: held["pictures"]}
        if texts != before:
            rows[f"drawings of {path.stem}"] = np.stack([draw(scenes[text], *held["pictures"].shape[2:0:-1]) for text in texts])
        before = texts
        for name, pictures in rows.items():
            low, high = outside(pictures, texts)
            counts = [(low[bright, DISC] > MISSING).sum(), (high[bright, DISC] > TOO_MUCH).sum(), (high[bright, PARTS] > APART).sum()]
            print(f"| {name} | {float((low + high).sum(1).mean()):.2f} | {int(bright.sum())} | " + " | ".join(str(int(count)) for count in counts) + " |")


if __name__ == "__main__":
    main()
