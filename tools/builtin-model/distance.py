"""How far a model's pictures are from the drawings, as a network that was trained on the drawings sees them.

    python distance.py FEATURES.safetensors COMPLETION.npz MADE.npz [MADE.npz ...]

MADE.npz is what `evaluate.py --keep` wrote. For each: the Frechet distance between the features of its pictures and of the drawings for which their captions and
noise stand (completion.py), what it comes to for endlessly many pictures, and how often a linear classifier that was fitted on half of both tells a picture's
origin in the other half (50 %: it cannot). The row "other drawings" is what the same number of other held-out drawings has: no model can do better. Distances of one count alone compare,
and few pictures scatter: what 300 come to for endlessly many differed by 3, and from what 2,000 come to by 5.
"""

import argparse
import pathlib

import numpy as np

from completion import Completion
from evaluate import drawing, held_out
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


def endless(a: np.ndarray, b: np.ndarray, rng) -> float:
    """The Frechet distance of endlessly many pictures: of fewer it is too large by a share of 1 / count, so it is measured for several counts and followed to
    1 / count = 0. Source: M. Chong and D. Forsyth, "Effectively unbiased FID and inception score and where to find them" (2020)."""
    counts = [len(a) * part // 12 for part in range(6, 13) for _ in range(6)]
    found = [frechet(a[rng.choice(len(a), count, False)], b[rng.choice(len(b), count, False)]) for count in counts]
    return float(np.polynomial.polynomial.polyfit(1 / np.array(counts), found, 1)[0])


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
    parser.add_argument("completion", type=pathlib.Path)
    parser.add_argument("made", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    model = Features.load(arguments.features).eval()
    sets = {path.stem: np.load(path)["pictures"] for path in arguments.made}
    count = min(map(len, sets.values()))
    completion = Completion.load(arguments.completion)
    drawn = [drawing(completion, text, number, SIDE) for number, (_, text, _) in enumerate(held_out(2 * count))]
    drawings, others = (features(model, np.stack(half)) for half in (drawn[:count], drawn[count:]))
    scale = drawings.std(0).mean()  # so that the numbers do not depend on how large this network's features happen to be
    rows = {name: features(model, pictures[:count]) for name, pictures in sets.items()} | {"other drawings": others}
    print(f"| {count} pictures | distance | of endlessly many | told apart |\n|---|---|---|---|")
    for name, found in rows.items():
        of_all = endless(found / scale, drawings / scale, np.random.default_rng(0))
        print(f"| {name} | {frechet(found / scale, drawings / scale):.2f} | {of_all:.2f} | {100 * told_apart(found, drawings):.0f} % |")


if __name__ == "__main__":
    main()
