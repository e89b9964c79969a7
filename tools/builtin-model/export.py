"""Writes the trained model as Atelier ships it: three safetensors files and their manifest.

    python export.py AUTOENCODER.pt DIT.pt ../../assets/builtin-model

Matrices are F16, vectors F32, and those matrices F32 that the engine keeps so. Layers of the autoencoder that were trained narrower are padded with
zeros to the layout's 64 channels, blocks that were left out become zeros, and token rows that training never met are zeros.
"""

import argparse
import hashlib
import json
import pathlib

import torch
from safetensors.torch import save_file

import tokens
from model import TAE_WIDTH, Autoencoder, Skip
from train import load

KEPT_F32 = ("t_embedder.", "final_layer.linear.")
LIMIT = 40_000_000


def stored(tensors: dict) -> dict:
    """Contiguous tensors in the precision that the file holds them in."""
    kept = {}
    for name, tensor in tensors.items():
        half = tensor.ndim > 1 and not name.startswith(KEPT_F32)
        kept[name] = tensor.detach().to(torch.float16 if half else torch.float32).contiguous()
    return kept


def widened(tensor: torch.Tensor, shape) -> torch.Tensor:
    """The tensor in the corner of zeros of this shape."""
    out = torch.zeros(shape)
    out[tuple(slice(0, edge) for edge in tensor.shape)] = tensor
    return out


def autoencoder_tensors(model: Autoencoder) -> dict:
    w, out = TAE_WIDTH, {}
    for half, layers in (("encoder", model.encoder["layers"]), ("decoder", model.decoder["layers"])):
        last = len(layers) - 1
        for n, layer in enumerate(layers):
            prefix = f"{half}.layers.{n}"
            if isinstance(layer, Skip):
                for conv in (0, 2, 4):
                    out[f"{prefix}.conv.{conv}.weight"] = torch.zeros(w, w, 3, 3)
                    out[f"{prefix}.conv.{conv}.bias"] = torch.zeros(w)
                continue
            for name, tensor in layer.state_dict().items():
                if tensor.ndim == 4:
                    edges = (tensor.shape[0] if n == last else w, tensor.shape[1] if n == 0 else w, 3, 3)
                else:
                    edges = (tensor.shape[0] if n == last else w,)
                out[f"{prefix}.{name}"] = widened(tensor, edges)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("autoencoder", type=pathlib.Path)
    parser.add_argument("dit", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--guidance", type=float, default=1.0)
    arguments = parser.parse_args()
    model, shape = load(arguments.dit)
    autoencoder = Autoencoder.load(arguments.autoencoder)
    arguments.folder.mkdir(parents=True, exist_ok=True)

    rows = torch.zeros(tokens.VOCABULARY, shape.text_width)
    rows[model["text"].used] = model["text"].rows.detach()
    files = {
        "diffusion": ("diffusion.safetensors", stored(model["dit"].state_dict())),
        "llm": ("text-encoder.safetensors", stored({"model.embed_tokens.weight": rows, "model.norm.weight": model["text"].norm.weight})),
        "tae": ("autoencoder.safetensors", stored(autoencoder_tensors(autoencoder))),
    }
    entries = []
    for role, (name, tensors) in files.items():
        path = arguments.folder / name
        save_file(tensors, path, metadata={"format": "pt", "licence": "MIT OR Apache-2.0", "made by": "tools/builtin-model"})
        data = path.read_bytes()
        entries.append({"role": role, "filename": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    total = sum(entry["size"] for entry in entries)
    if total > LIMIT:
        raise SystemExit(f"{total} bytes are more than the {LIMIT} that may be shipped.")
    manifest = {
        "id": "atelier-landscapes",
        "name": "Atelier Landscapes",
        "family": "Z-Image",
        "description": "catalogue-landscapes",
        "licence": "MIT OR Apache-2.0",
        "files": entries,
        "defaults": {
            "steps": arguments.steps,
            "cfg": arguments.guidance,
            "width": 256,
            "height": 256,
            "sampler": "euler",
            "scheduler": "simple",
            "flow_shift": 3.0,
            "negative_in_prompt": True,
            "preview": "tae",
        },
    }
    (arguments.folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    print(f"{total / 1e6:.1f} MB in {arguments.folder}")


if __name__ == "__main__":
    main()
