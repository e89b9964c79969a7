"""Checks that PyTorch and the engine make the same picture from the same noise.

    python parity.py AUTOENCODER.pt DIT.pt FOLDER ATELIER [--side 128] [--steps 8] [--guidance 1]

FOLDER is what export.py wrote of these checkpoints, ATELIER the program. Fails where any picture's mean difference is 2 of 255 or more.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
from PIL import Image

from model import Autoencoder
from sampling import engine_noise, sample
from train import load

PROMPTS = [
    "a red sunset over snowy mountains, a lake, pine trees",
    "Night, a city skyline with lit windows beside a lake, stars and a full moon above, quiet water, reflections and a small boat, birds",
    "teal sea",
    "",
]
LIMIT = 2.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("autoencoder", "dit", "folder", "atelier"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--side", type=int, default=128)
    parser.add_argument("--height", type=int)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--guidance", type=float, default=1.0)
    arguments = parser.parse_args()
    height = arguments.height or arguments.side
    model, _ = load(arguments.dit)
    model.eval()
    autoencoder = Autoencoder.load(arguments.autoencoder)
    worst = 0.0
    for n, prompt in enumerate(PROMPTS):
        seed = 40 + n
        noise = engine_noise(seed, (1, 16, height // 8, arguments.side // 8))
        latents = sample(model, [prompt], noise, arguments.steps, arguments.guidance)
        with torch.inference_mode():
            ours = autoencoder.decode(latents).clamp(0, 1).mul(255)[0].permute(1, 2, 0).numpy()
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "picture.png"
            command = [arguments.atelier, "generate", "--diffusion-model", arguments.folder / "diffusion.safetensors"]
            command += ["--llm", arguments.folder / "text-encoder.safetensors", "--taesd", arguments.folder / "autoencoder.safetensors"]
            command += ["-p", prompt, "-W", arguments.side, "-H", height, "--steps", arguments.steps, "--cfg-scale", arguments.guidance]
            command += ["--seed", seed, "--sampling-method", "euler", "--scheduler", "simple", "--flow-shift", 3, "-o", out]
            subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
            theirs = np.asarray(Image.open(out).convert("RGB"), np.float32)
        difference = float(np.abs(ours - theirs).mean())
        worst = max(worst, difference)
        print(f"{difference:.3f} of 255: {prompt!r}")
    print(f"largest mean difference {worst:.3f} of 255, limit {LIMIT}")
    sys.exit(worst >= LIMIT)


if __name__ == "__main__":
    main()
