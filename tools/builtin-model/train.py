"""Trains the DiT and the text encoder together by rectified flow on latents.

    python train.py SHARDS OUT.pt --minutes 30 --share 256x256=0.8 --share other=0.1 --share 128x128=0.1 [--start FILE.pt]

With noise n, picture latent x and sigma in 0..1 the model sees (1 - sigma) x + sigma n at time 1000 (1 - sigma) and predicts x - n. Sigma is a
logit-normal draw moved by a shift that grows with the picture: 3 at 256 x 256, as the engine's schedule has it. A tenth of the captions are empty, for
guidance.

A run goes on from OUT.pt if it is there (weights, averages and optimisers), else from the averaged weights of --start, else from nothing. Shards that
shards.py writes meanwhile are taken in. OUT.csv is the loss curve. BF16 where the processor multiplies it (or on CUDA), else F32.
"""

import argparse
import copy
import csv
import json
import pathlib
import re
import time

import numpy as np
import torch

import tokens
from model import Dit, Shape, TextEncoder
from muon import Muon, schedule

EMPTY = 0.1
LOOK = 200  # steps between two looks for new shards
SAVE = 120  # seconds between two checkpoints
SMALL = re.compile(r"\b(sun|sunshine|moon|moonlight)\b", re.IGNORECASE)  # captions drawn twice as often: what they name is small and learnt last


class Part:
    """The pictures of one size and their captions, grouped by how many text positions the DiT pads them to."""

    def __init__(self):
        self.latents = []
        self.by_padding = {}

    def add(self, path: pathlib.Path, texts):
        shard = len(self.latents)
        self.latents.append(np.load(path, mmap_mode="r"))
        for picture, several in enumerate(texts):
            for text in several:
                ids = tokens.tokens(text)
                self.by_padding.setdefault(tokens.padded(len(ids)), []).extend([(shard, picture, ids)] * (2 if SMALL.search(text) else 1))

    def draw(self, rng, count: int):
        """Latents, ids [count, padding] and lengths of `count` captions of one padding."""
        paddings = sorted(self.by_padding)
        sizes = np.array([len(self.by_padding[padding]) for padding in paddings])
        padding = paddings[rng.choice(len(paddings), p=sizes / sizes.sum())]
        chosen = [self.by_padding[padding][n] for n in rng.integers(0, len(self.by_padding[padding]), count)]
        ids = np.zeros((count, padding), np.int64)
        lengths = np.zeros(count, np.int64)
        empty = tokens.tokens("")
        for n, (_, _, words) in enumerate(chosen):
            words = empty if padding == tokens.PADDING and rng.random() < EMPTY else words
            ids[n, : len(words)] = words
            lengths[n] = len(words)
        latents = np.stack([self.latents[shard][picture] for shard, picture, _ in chosen])
        return torch.from_numpy(latents), torch.from_numpy(ids), torch.from_numpy(lengths)


class Shards:
    """Everything that shards.py has written so far, by size ("256x256")."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self.seen, self.parts = folder, set(), {}
        self.look()

    def look(self):
        for done in sorted(self.folder.glob("*.json")):
            if done.name in self.seen:
                continue
            self.seen.add(done.name)
            texts = json.loads(done.read_text())
            for path in self.folder.glob(f"{done.stem}-*.npy"):
                self.parts.setdefault(path.stem.split("-")[1], Part()).add(path, texts)

    def shares(self, wanted: dict[str, float]):
        """Sizes that are there, and the share of the steps for each; "other" is shared by all that have none of their own."""
        other = [size for size in self.parts if size not in wanted]
        shares = {size: wanted.get(size, wanted.get("other", 0.0) / max(1, len(other))) for size in sorted(self.parts)}
        shares = {size: share for size, share in shares.items() if share > 0}
        total = sum(shares.values())
        return list(shares), [share / total for share in shares.values()]


def vocabulary(folder: pathlib.Path) -> torch.Tensor:
    """Every token id that any caption of the shards uses, sorted, the chat frame's included."""
    used = set(tokens.tokens(""))
    for path in sorted(folder.glob("*.json")):
        for several in json.loads(path.read_text()):
            for text in several:
                used.update(tokens.tokens(text))
    return torch.tensor(sorted(used))


def build(shape: Shape, used: torch.Tensor) -> torch.nn.ModuleDict:
    return torch.nn.ModuleDict({"dit": Dit(shape), "text": TextEncoder(shape.text_width, used)})


def optimisers(model, kind=torch.float32):
    """Muon for the blocks' matrices, Adam for embeddings, modulation, norms and the ends; with their peak rates."""
    split, matrices = {}, []
    for block in [*model["dit"].context_refiner, *model["dit"].noise_refiner, *model["dit"].layers]:
        matrices += [block.attention.qkv.weight, block.attention.out.weight]
        matrices += [block.feed_forward.w1.weight, block.feed_forward.w2.weight, block.feed_forward.w3.weight]
        split[id(block.attention.qkv.weight)] = 3
    rest = [p for p in model.parameters() if not any(p is m for m in matrices)]
    return [
        (Muon(matrices, lr=4e-3, decay=0.1, split=split, kind=kind), 4e-3),
        (torch.optim.Adam(rest, lr=2e-3, betas=(0.9, 0.98), fused=True), 2e-3),
    ]


def precision(device: str) -> torch.dtype:
    """BF16 where it is faster than F32."""
    native = device != "cpu" or torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return torch.bfloat16 if native else torch.float32


def levels(count: int, patches: int, device: str) -> torch.Tensor:
    """Noise levels sigma [count] for pictures of so many patches."""
    shift = 3.0 * (patches / 256) ** 0.3
    sigma = torch.sigmoid(torch.randn(count, device=device))
    return shift * sigma / (1 + (shift - 1) * sigma)


def load(path: pathlib.Path, ema: bool = True):
    """The model in a checkpoint, its averaged weights by default, and its shape."""
    saved = torch.load(path, map_location="cpu")
    shape = Shape(**saved["shape"])
    model = build(shape, saved["used"])
    model.load_state_dict(saved["ema" if ema else "model"])
    return model, shape


def widen(saved: dict, used: torch.Tensor):
    """Gives a checkpoint's text encoder rows for the tokens of `used` that it never met, at random as a new one's are."""
    known = saved["used"]
    whole = torch.unique(torch.cat([known, used]))
    if len(whole) == len(known):
        return
    place = torch.searchsorted(whole, known)
    for weights in (saved["model"], saved["ema"]):
        rows = torch.randn(len(whole), weights["text.rows"].shape[1]) * 0.5
        rows[place] = weights["text.rows"]
        weights["text.rows"], weights["text.used"] = rows, whole
    saved["used"] = whole
    saved.pop("optimisers", None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shards", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--share", action="append", required=True, help="SIZE=SHARE of the steps, SIZE as 256x256 or `other`")
    parser.add_argument("--batch-tokens", type=int, default=24 * 256, help="picture tokens in a batch")
    parser.add_argument("--rate", type=float, default=1.0, help="factor on the learning rates")
    parser.add_argument("--cool", type=float, default=0.5, help="share of the run over which the rate falls to nothing; 0 for a run that others go on from")
    parser.add_argument("--average", type=float, default=0.99, help="of the exponential average, per step")
    parser.add_argument("--start", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()

    device = arguments.device
    kind = precision(device)
    wanted = {size: float(share) for size, share in (word.split("=") for word in arguments.share)}
    shards = Shards(arguments.shards)
    saved = None
    if arguments.out.exists():
        saved = torch.load(arguments.out, map_location="cpu")
    elif arguments.start:
        saved = torch.load(arguments.start, map_location="cpu")
        saved = {"model": saved["ema"], "ema": copy.deepcopy(saved["ema"]), "used": saved["used"], "shape": saved["shape"], "spent": 0.0, "step": 0}
    if saved:
        widen(saved, vocabulary(arguments.shards))
        shape, used, spent, step = Shape(**saved["shape"]), saved["used"], saved["spent"], saved["step"]
    else:
        shape, used, spent, step = Shape(layers=arguments.layers), vocabulary(arguments.shards), 0.0, 0
    torch.manual_seed(arguments.seed + step)
    rng = np.random.default_rng((arguments.seed, step))
    model = build(shape, used)
    if saved:
        model.load_state_dict(saved["model"])
    average = copy.deepcopy(model).eval().requires_grad_(False)
    if saved:
        average.load_state_dict(saved["ema"])
    model.to(device)
    average.to(device)
    both = optimisers(model, kind)
    if saved and "optimisers" in saved:
        for (optimiser, _), state in zip(both, saved["optimisers"]):
            optimiser.load_state_dict(state)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, {len(used)} tokens known, {kind} on {device}, from step {step}", flush=True)
    compiled = torch.compile(model["dit"], dynamic=False)

    budget = arguments.minutes * 60
    began = stored = time.time()
    began -= spent
    log = open(arguments.out.with_suffix(".csv"), "a", newline="")
    writer = csv.writer(log)
    losses = {}

    def save():
        state = {"model": model.state_dict(), "ema": average.state_dict(), "used": used, "shape": vars(shape)}
        state["optimisers"] = [optimiser.state_dict() for optimiser, _ in both]
        temporary = arguments.out.with_suffix(".tmp")
        torch.save({**state, "spent": time.time() - began, "step": step}, temporary)
        temporary.replace(arguments.out)

    while (elapsed := time.time() - began) < budget:
        if step % LOOK == 0:
            shards.look()
        sizes, shares = shards.shares(wanted)
        factor = schedule(int(elapsed), int(budget), 30, arguments.cool) * arguments.rate
        for optimiser, rate in both:
            for group in optimiser.param_groups:
                group["lr"] = rate * factor
        size = sizes[rng.choice(len(sizes), p=shares)]
        columns, rows = (int(edge) // 16 for edge in size.split("x"))
        count = max(1, arguments.batch_tokens // (rows * columns))
        x, ids, lengths = (tensor.to(device) for tensor in shards.parts[size].draw(rng, count))
        x = x.float()
        noise = torch.randn_like(x)
        sigma = levels(count, rows * columns, device)
        mix = torch.lerp(x, noise, sigma[:, None, None, None])
        # What is drawn seldom is not worth compiling for on a processor.
        often = rows == columns and ids.shape[1] == tokens.PADDING
        dit = compiled if often or device != "cpu" else model["dit"]
        with torch.autocast(torch.device(device).type, kind, enabled=kind != torch.float32):
            model["dit"].turns(ids.shape[1], rows, columns, torch.empty(0, device=device, dtype=kind))
            velocity = dit(mix, 1000 * (1 - sigma), model["text"](ids), lengths)
        loss = (velocity.float() - (x - noise)).pow(2).mean()
        for optimiser, _ in both:
            optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimiser, _ in both:
            optimiser.step()
        step += 1
        decay = min(arguments.average, 1 - 1 / (step + 1))
        torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 1 - decay)
        losses.setdefault(size, []).append(loss.detach())
        if step % 25 == 0:
            means = {size: round(float(torch.stack(several).mean()), 5) for size, several in losses.items()}
            for size, mean in means.items():
                writer.writerow([step, round(time.time() - began, 1), size, mean])
            log.flush()
            print(f"{time.time() - began:6.0f} s  step {step}  " + "  ".join(f"{size} {mean:.4f}" for size, mean in means.items()), flush=True)
            losses = {}
        if time.time() - stored > SAVE:
            save()
            stored = time.time()
    save()


if __name__ == "__main__":
    main()
