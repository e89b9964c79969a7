"""Makes a DiT that was trained on noise without layouts, or has fewer layers, a beginning for train.py.

    python lengthen.py START.pt OUT.pt [--layers 7]

New layers come before the others and begin with nearly closed gates, so that they change little at first; how layouts are read is set by pooling.py.
"""

import argparse
import pathlib

import torch

from model import Shape
from pooling import set_noise_refiner
from train import build, save_weights


@torch.no_grad()
def lengthened(saved: dict, layers: int):
    """The model in a checkpoint with so many layers, and its shape."""
    shape = Shape(**{**saved["shape"], "layers": layers})
    model, more = build(shape, saved["used"]), layers - saved["shape"]["layers"]
    state = {}
    for name, tensor in saved["ema"].items():
        _, inside, rest = name.partition("dit.layers.")
        state[name if not inside else f"dit.layers.{int(rest.split('.')[0]) + more}.{rest.split('.', 1)[1]}"] = tensor
    model.load_state_dict(state, strict=False)
    for block in model["dit"].layers[:more]:
        gates = block.adaLN_modulation[0].bias.view(4, -1)
        gates[1].fill_(0.05)
        gates[3].fill_(0.05)
    return model, shape


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("start", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=7)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    saved = torch.load(arguments.start, map_location="cpu")
    model, shape = lengthened(saved, arguments.layers)
    set_noise_refiner(model["dit"])
    save_weights(arguments.out, model.state_dict(), vars(shape), saved.get("others", {}))
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters")


if __name__ == "__main__":
    main()
