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
    data, latents = run / "data", run / "latents"
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
    stage("autoencoder", "train_autoencoder.py", data, run / "tae.pt", *minutes(7))
    for name, aspect, halves, count in (("square-1", "square", 1, 18000), ("square-0", "square", 0, 9000), ("wide-0", "wide", 0, 2000), ("tall-0", "tall", 0, 1000)):
        stage(f"latents {name}", "encode.py", data, run / "tae.pt", latents, "--aspect", aspect, "--halves", halves, "--count", count)
    stage("small", "train.py", data, latents, run / "small.pt", *minutes(24), "--part", "square-1=1", "--cool", 0.3)
    parts = [word for part in ("square-0=0.8", "square-1=0.12", "wide-0=0.05", "tall-0=0.03") for word in ("--part", part)]
    stage("large", "train.py", data, latents, run / "dit.pt", "--start", run / "small.pt", *minutes(41), *parts,
          "--cool", 0.6, "--batch-tokens", 6144, "--shift", 3)  # fmt: skip
    stage("exported", "export.py", run / "tae.pt", run / "dit.pt", ASSETS)
    stage("measured", "evaluate.py", run / "tae.pt", run / "dit.pt", "--table", run / "attributes.md")
    if arguments.atelier:
        stage("parity", "parity.py", run / "tae.pt", run / "dit.pt", ASSETS, arguments.atelier.resolve())


if __name__ == "__main__":
    main()
