"""How well a patch knows each number of the layout, after the noise refiner and after some layers.

    python reading.py DIT.pt [DIT.pt ...]

A linear fit of the states of one patch of noise alone, 256 x 256, judged on other noise: root mean squares of what it misses, for each number. 1 is to know nothing
(numbers have a deviation of 1); a choice between three is wrong in one of twenty at 0.1 and in one of eight at 0.25.
"""

import pathlib
import sys

import numpy as np
import torch

from layout import NUMBERS, Layout
from sampling import encode, noise_of
from train import load

PICTURES = 2400  # three quarters of them are fitted to
BATCH = 48  # divides them
PATCH = 100  # of 256
LAYERS = (0, 2, 4)
TEXT = "mountains at a lake"


def states(model, flat: torch.Tensor) -> dict[str, np.ndarray]:
    """States [pictures, width] of one patch, by where they are from."""
    dit, found = model["dit"], {}
    text, lengths = encode(model, [TEXT] * BATCH)

    def keep(name: str, place: int):
        return lambda _block, _given, states: found.setdefault(name, []).append(states[:, place])

    dit.noise_refiner[-1].register_forward_hook(keep("refiner", PATCH))
    for number in LAYERS:
        dit.layers[number].register_forward_hook(keep(f"layer {number + 1}", text.shape[1] + PATCH))
    for some in flat.split(BATCH):
        dit(noise_of(some, 16, 16), torch.zeros(BATCH), text, lengths)
    return {name: torch.cat(several).numpy() for name, several in found.items()}


def missed(states: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """What a linear fit to three quarters misses of each number in the others."""
    held = np.c_[(states - states.mean(0)) / (states.std(0) + 1e-6), np.ones(len(states))]
    fitted = len(held) * 3 // 4
    weights = np.linalg.solve(held[:fitted].T @ held[:fitted] + 2 * np.eye(held.shape[1]), held[:fitted].T @ numbers[:fitted])
    return np.sqrt(((held[fitted:] @ weights - numbers[fitted:]) ** 2).mean(0))


def main():
    rng = np.random.default_rng(3)
    layouts = [Layout.sample(rng, 256, 256) for _ in range(PICTURES)]
    flat, numbers = torch.from_numpy(np.stack([layout.flat() for layout in layouts])), np.stack([layout.numbers for layout in layouts])
    print(f"| | {' | '.join(NUMBERS)} |\n|---{'|---' * len(NUMBERS)}|")
    for path in map(pathlib.Path, sys.argv[1:]):
        torch.manual_seed(1)
        model, _ = load(path)
        with torch.inference_mode():
            for name, found in states(model.eval(), flat).items():
                print(f"| {path.stem}, {name} | {' | '.join(f'{value:.2f}' for value in missed(found, numbers))} |", flush=True)


if __name__ == "__main__":
    main()
