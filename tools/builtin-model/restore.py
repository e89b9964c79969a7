"""Makes training's checkpoints of the shipped files again, so that training can go on from them.

    python restore.py ../../assets/builtin-model RUN

RUN gets `tae.pt` and `dit.pt`, as train_autoencoder.py and train.py save them.
The files hold matrices in F16, so the checkpoints do as well as these models and no better; optimisers start anew, as they do at every start of train.py.
"""

import argparse
import pathlib
import sys

import torch
from safetensors.torch import load_file

from model import Autoencoder, Shape
from train import build, save_weights


def autoencoder(folder: pathlib.Path) -> Autoencoder:
    """The autoencoder without the zeros by which export.py widened its layers."""
    held = load_file(folder / "autoencoder.safetensors")
    model = Autoencoder()
    cut = {name: held[name].float()[tuple(slice(0, edge) for edge in tensor.shape)].clone() for name, tensor in model.state_dict().items()}
    model.load_state_dict(cut)
    return model


def landscapes(folder: pathlib.Path):
    """The DiT with its text encoder, and their shape."""
    dit = {name: tensor.float() for name, tensor in load_file(folder / "diffusion.safetensors").items()}
    text = load_file(folder / "text-encoder.safetensors")
    rows = text["model.embed_tokens.weight"].float()
    used = rows.abs().sum(1).nonzero()[:, 0]
    layers = len({name.split(".")[1] for name in dit if name.startswith("layers.")})
    refiners = len({name.split(".")[1] for name in dit if name.startswith("noise_refiner.")})
    shape = Shape(width=dit["x_embedder.weight"].shape[0], layers=layers, refiners=refiners, text_width=rows.shape[1])
    model = build(shape, used)
    model["dit"].load_state_dict(dit)
    model["text"].load_state_dict({"used": used, "rows": rows[used], "norm.weight": text["model.norm.weight"].float()})
    return model, shape


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("run", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.run.mkdir(parents=True, exist_ok=True)
    if (arguments.run / "dit.pt").exists():
        sys.exit(f"{arguments.run / 'dit.pt'} is there already")
    latents, (model, shape) = autoencoder(arguments.source), landscapes(arguments.source)
    torch.save({"model": latents.state_dict(), "layout": latents.layout, "spent": 0.0}, arguments.run / "tae.pt")
    save_weights(arguments.run / "dit.pt", model.state_dict(), vars(shape))
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, {len(model['text'].used)} tokens known")


if __name__ == "__main__":
    main()
