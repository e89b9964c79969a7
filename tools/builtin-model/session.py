"""Everything that a machine with an accelerator does in the minutes for which it is lent.

    python session.py WORK OUT --minutes 9 [--carried FOLDER] -- OPTIONS OF train.py
    python session.py --join FOLDER DIT.pt

Draws and encodes shards on all cores, trains meanwhile, measures, and leaves in OUT the averaged weights in parts of at most 15 MiB (F16), the loss curve,
the table of attributes and a sheet. WORK is where a second call on the same machine finds shards and checkpoints again. Training starts from the parts in
--carried, else from the shipped model. `--join` makes a checkpoint of parts, for evaluate.py, export.py and another session.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import time

import torch

from train import save_weights

HERE = pathlib.Path(__file__).parent
ASSETS = HERE.parent.parent / "assets" / "builtin-model"
PART = 15 * 2**20
ENOUGH = 16  # shards with which training may begin
LAST = 75  # seconds kept for measuring and packing


def pack(checkpoint: pathlib.Path, folder: pathlib.Path):
    """The checkpoint's averaged weights in F16 as `dit.part0`, `dit.part1` ..."""
    saved = torch.load(checkpoint, map_location="cpu")
    small = {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in saved["ema"].items()}
    whole = folder / "whole.tmp"
    torch.save({"ema": small, "used": saved["used"], "shape": saved["shape"]}, whole)
    data = whole.read_bytes()
    whole.unlink()
    for n, start in enumerate(range(0, len(data), PART)):
        (folder / f"dit.part{n}").write_bytes(data[start : start + PART])


def join(folder: pathlib.Path, checkpoint: pathlib.Path):
    """A checkpoint of what `pack` wrote."""
    whole = checkpoint.with_suffix(".tmp")
    parts = sorted(folder.glob("dit.part*"), key=lambda path: int(path.name.removeprefix("dit.part")))
    whole.write_bytes(b"".join(part.read_bytes() for part in parts))
    saved = torch.load(whole)
    whole.unlink()
    weights = {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in saved["ema"].items()}
    save_weights(checkpoint, weights, saved["shape"])


def call(script: str, *rest):
    subprocess.run([sys.executable, HERE / script, *map(str, rest)], check=True)


def main():
    if sys.argv[1:2] == ["--join"]:
        return join(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    words = [*sys.argv[1:], "--"]
    own, passed = words[: words.index("--")], words[words.index("--") + 1 : -1]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--carried", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=400_000)
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--pictures", type=int, default=200, help="that are measured")
    arguments = parser.parse_args(own)
    end = time.time() + arguments.minutes * 60
    work, out, device = arguments.work.resolve(), arguments.out.resolve(), ("--device", arguments.device)
    work.mkdir(parents=True, exist_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    if not (work / "dit.pt").exists():
        call("restore.py", ASSETS, work)
        if arguments.carried:
            join(arguments.carried, work / "dit.pt")
    shards, completion = work / "shards", work / "completion.npz"
    if not completion.exists():
        call("completion.py", completion)
    amount = ("--large", "4", "--count", str(arguments.count), "--workers", str(arguments.workers))
    drawing = subprocess.Popen([sys.executable, HERE / "shards.py", work / "tae.pt", completion, shards, *amount, *device])
    try:
        while len(list(shards.glob("*.json"))) < min(ENOUGH, arguments.count // 500) and drawing.poll() in (None, 0):
            time.sleep(1)
        trained = work / "train-out.pt"
        before = torch.load(trained, map_location="cpu")["spent"] if trained.exists() else 0.0
        minutes = (before + end - time.time() - LAST) / 60
        call("train.py", shards, trained, "--start", work / "dit.pt", "--minutes", minutes, *device, *passed)
    finally:
        drawing.terminate()
    pack(trained, out)
    shutil.copy(trained.with_suffix(".csv"), out / "loss.csv")
    measured = ("--count", arguments.pictures, "--table", out / "attributes.md", "--sheet", out / "sheet.png")
    call("evaluate.py", work / "tae.pt", trained, "--quick", *measured, *device)


if __name__ == "__main__":
    main()
