"""How far a model's pictures are from the drawings, as a network that was trained on the drawings sees them.

    python distance.py FEATURES.safetensors MADE.npz [MADE.npz ...]

MADE.npz is what `evaluate.py --keep` wrote. For each: the Frechet distance between the features of its pictures and of the same captions' drawings, and how
often a linear classifier that was fitted on half of both tells a picture's origin in the other half (50 %: it cannot). The row "other drawings" is what
the same number of other held-out drawings has: no model can do better. Compare only rows of one count.
"""

import argparse
import pathlib

import numpy as np
from draw import draw
from evaluate import held_out
from features import SIDE, Features
from fit_measure import fit


def features(model, pictures: np.ndarray) -> np.ndarray:
    return model.of(pictures).double().numpy()


def frechet(a: np.ndarray, b: np.ndarray) -> float:
    """The Frechet distance between the normal distributions of two sets of features [count, width]."""
    one, two = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    values, vectors = np.linalg.eigh(one)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    common = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ two @ root), 0)).sum()
    return float(((a.mean(0) - b.mean(0)) ** 2).sum() + np.trace(one) + np.trace(two) - 2 * common)


def told_apart(a: np.ndarray, b: np.ndarray) -> float:
    """Share of held-back features whose set a linear classifier names rightly: every second of each set trains it."""
    x, y = np.concatenate([a, b]), np.repeat([False, True], [len(a), len(b)])
    x = (x - x.mean(0)) / (x.std(0) + 1e-9)
    train = np.arange(len(x)) % 2 == 0
    weights = fit(x[train], y[train], ridge=1e-2)
    return float(((x[~train] @ weights[:-1] + weights[-1] > 0) == y[~train]).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("features", type=pathlib.Path)
    parser.add_argument("made", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    model = Features.load(arguments.features).eval()
    sets = {path.stem: np.load(path)["pictures"] for path in arguments.made}
    count = min(map(len, sets.values()))
    scenes = [scene for scene, _, _ in held_out(2 * count)]
    drawings, others = (features(model, np.stack([draw(scene, SIDE, SIDE) for scene in half])) for half in (scenes[:count], scenes[count:]))
    scale = drawings.std(0).mean()  # so that the numbers do not depend on how large this network's features happen to be
    rows = {name: features(model, pictures[:count]) for name, pictures in sets.items()} | {"other drawings": others}
    print(f"| {count} pictures | distance | told apart |\n|---|---|---|")
    for name, found in rows.items():
        print(f"| {name} | {frechet(found / scale, drawings / scale):.2f} | {100 * told_apart(found, drawings):.0f} % |")


if __name__ == "__main__":
    main()
