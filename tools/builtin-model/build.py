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

    completion, pictures = run / "completion.npz", run / "dit.pt"
    stage("drawn", "dataset.py", data)
    stage("autoencoder", "train_autoencoder.py", data, run / "tae.pt", *minutes(36))
    stage("completion", "completion.py", completion)
    stage("shards", "shards.py", run / "tae.pt", completion, shards, "--count", 32000, "--workers", 2, "--large", 4)
    stage("features", "features.py", run / "features.safetensors", *minutes(20), "--workers", 2)
    # What noise and captions mean is learnt several times as fast from small pictures.
    small = ("--share", "128x128=0.7", "--share", "256x256=0.3", "--alone", 0.6, "--cool", 0)
    stage("small", "train.py", shards, pictures, *minutes(60), *small)
    sizes = [word for share in ("256x256=0.52", "128x128=0.06", "other=0.10", "large=0.32") for word in ("--share", share)]
    stage("trained", "train.py", shards, pictures, *minutes(300), *sizes, "--alone", 0.4, "--cool", 0.7)
    stage("exported", "export.py", run / "tae.pt", pictures, ASSETS)
    kept = ("--table", run / "attributes.md", "--wide", run / "features.safetensors", "--keep", run / "pictures.npz", "--exclusions", completion)
    stage("measured", "evaluate.py", run / "tae.pt", pictures, *kept)
    stage("compared", "distance.py", run / "features.safetensors", completion, run / "pictures.npz")
    if arguments.atelier:
        stage("parity", "parity.py", run / "tae.pt", pictures, ASSETS, arguments.atelier.resolve())


if __name__ == "__main__":
    main()
