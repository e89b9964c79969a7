"""From nothing to the shipped model: draws, trains, exports, checks.

    python build.py RUN [--atelier PATH] [--scale 1.0]

Each stage leaves a file behind and is skipped where its file is whole; a stage that was stopped goes on from its checkpoint. `--scale` multiplies the
minutes of training.
"""

import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
ASSETS = HERE.parent.parent / "assets" / "builtin-model"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("--atelier", type=pathlib.Path)
    parser.add_argument("--scale", type=float, default=1.0)
    arguments = parser.parse_args()
    run = arguments.run.resolve()
    data, shards = run / "data", run / "shards"
    run.mkdir(parents=True, exist_ok=True)

    def stage(done, script, *rest):
        mark = run / f"{done}.done"
        if mark.exists():
            return
        print(f"== {done}: {script} {' '.join(map(str, rest))}", flush=True)
        subprocess.run([sys.executable, HERE / script, *map(str, rest)], check=True)
        mark.touch()

    def minutes(count):
        return ("--minutes", count * arguments.scale)

    stage("drawn", "dataset.py", data)
    stage("autoencoder", "train_autoencoder.py", data, run / "tae.pt", *minutes(25))
    stage("features", "features.py", run / "features.safetensors", *minutes(20), "--workers", 2)
    stage("shards", "shards.py", run / "tae.pt", shards, "--count", 16000, "--workers", 2)
    stage("wide", "shards.py", run / "tae.pt", shards, "--count", 11000, "--workers", 2, "--seed", 21, "--first", 32, "--wide")
    stage("small", "train.py", shards, run / "small.pt", *minutes(24), "--share", "128x128=1", "--cool", 0.3, "--batch-tokens", 4096)
    sizes = [word for share in ("256x256=0.8", "128x128=0.12", "other=0.08") for word in ("--share", share)]
    stage("large", "train.py", shards, run / "dit.pt", "--start", run / "small.pt", *minutes(41), *sizes, "--cool", 0.6)
    stage("more", "train.py", shards, run / "more.pt", "--start", run / "dit.pt", *minutes(120), *sizes, "--cool", 0, "--average", 0.998, "--rate", 0.6)
    few = ("--guidance", 3, "--batch-tokens", 3072, "--cool", 0.6, "--rate", 0.4)
    stage("few", "distill.py", shards, run / "few.pt", "--start", run / "more.pt", *minutes(33), *sizes, *few)
    sharp = ("--start", run / "few.pt", "--backbone", run / "more.pt", "--force", 0.3, "--batch-tokens", 3072, "--cool", 0.5, "--rate", 0.15)
    stage("sharp", "adversarial.py", shards, run / "sharp.pt", *sharp, *minutes(75), *sizes)
    stage("ranges", "ranges.py", shards, run / "ranges.pt", "--teacher", run / "more.pt")
    holding = ("--start", run / "sharp.pt", "--teacher", run / "more.pt", "--ranges", run / "ranges.pt", "--batch-tokens", 3072, "--rate", 0.2)
    stage("holding", "reward.py", shards, run / "holding.pt", *holding, *minutes(28), "--share", "256x256=1")
    way = ("--steps", 8, "--guidance", 1)
    stage("exported", "export.py", run / "tae.pt", run / "holding.pt", ASSETS, *way)
    stage("measured", "evaluate.py", run / "tae.pt", run / "holding.pt", "--table", run / "attributes.md", "--wide", run / "features.safetensors", *way)
    if arguments.atelier:
        stage("parity", "parity.py", run / "tae.pt", run / "holding.pt", ASSETS, arguments.atelier.resolve(), *way)


if __name__ == "__main__":
    main()
