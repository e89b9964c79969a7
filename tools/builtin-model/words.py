"""Gives a model the words that only another knows, which went on from it or from the same start: their rows in its text encoder.

    python words.py MODEL.pt OTHER.pt OUT.pt

The rows of words that both know have to be alike; how alike they are is printed.
"""

import argparse
import pathlib

import torch

from train import load, save_weights


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("model", "other", "out"):
        parser.add_argument(name, type=pathlib.Path)
    arguments = parser.parse_args()
    (model, shape), (other, _) = (load(path) for path in (arguments.model, arguments.other))
    rows, others = (dict(zip(each["text"].used.tolist(), each["text"].rows)) for each in (model, other))
    both = sorted(rows.keys() & others.keys())
    alike = torch.cosine_similarity(*(torch.stack([known[token] for token in both]) for known in (rows, others)), dim=1)
    whole = {**others, **rows}
    used = torch.tensor(sorted(whole))
    weights = model.state_dict() | {"text.used": used, "text.rows": torch.stack([whole[token] for token in used.tolist()])}
    save_weights(arguments.out, weights, vars(shape))
    print(f"{len(whole) - len(rows)} words more; rows of the other {len(both)} have a cosine of {alike.mean():.3f}, the least {alike.min():.3f}")


if __name__ == "__main__":
    main()
