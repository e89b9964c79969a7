"""Trains the DiT and the text encoder together by rectified flow on latents.

    python train.py DATA LATENTS OUT.pt --minutes 30 --part square-1=1.0 [--part NAME=SHARE ...]

With noise n, picture latent x and sigma in 0..1 the model sees (1 - sigma) x + sigma n at time 1000 (1 - sigma) and predicts x - n. Sigma is a
logit-normal draw moved by the same shift that the engine's schedule uses. A tenth of the captions are empty, for guidance.

A run goes on from OUT.pt if it is there (the same part of the same run), else from --start. OUT.csv is the loss curve.
"""

import argparse
import copy
import csv
import json
import pathlib
import time

import numpy as np
import torch

import tokens
from model import Dit, Shape, TextEncoder
from muon import Muon, schedule

EMPTY = 0.1
EMA = 0.99


class Captions:
    """Token ids of every caption, padded and grouped by how many text positions the DiT pads them to."""

    def __init__(self, path: pathlib.Path, count: int):
        texts = json.loads(path.read_text())[:count]
        self.by_padding = {}
        for picture, several in enumerate(texts):
            for text in several:
                ids = tokens.tokens(text)
                self.by_padding.setdefault(tokens.padded(len(ids)), []).append((picture, ids))
        total = sum(map(len, self.by_padding.values()))
        self.paddings = sorted(self.by_padding)
        self.shares = [len(self.by_padding[padding]) / total for padding in self.paddings]

    def draw(self, rng, count: int):
        """Picture indices, ids [count, padding] and lengths of `count` captions of one padding."""
        padding = self.paddings[rng.choice(len(self.paddings), p=self.shares)]
        chosen = [self.by_padding[padding][n] for n in rng.integers(0, len(self.by_padding[padding]), count)]
        ids = np.zeros((count, padding), np.int64)
        lengths = np.zeros(count, np.int64)
        empty = tokens.tokens("")
        for n, (_, words) in enumerate(chosen):
            words = empty if padding == tokens.PADDING and rng.random() < EMPTY else words
            ids[n, : len(words)] = words
            lengths[n] = len(words)
        return np.array([picture for picture, _ in chosen]), torch.from_numpy(ids), torch.from_numpy(lengths)


def vocabulary(data: pathlib.Path) -> torch.Tensor:
    """Every token id that any caption of the set uses, sorted, the chat frame's included."""
    used = set(tokens.tokens(""))
    for path in sorted(data.glob("*.json")):
        for several in json.loads(path.read_text()):
            for text in several:
                used.update(tokens.tokens(text))
    return torch.tensor(sorted(used))


def build(shape: Shape, used: torch.Tensor) -> torch.nn.ModuleDict:
    return torch.nn.ModuleDict({"dit": Dit(shape), "text": TextEncoder(shape.text_width, used)})


def optimisers(model):
    """Muon for the blocks' matrices, Adam for embeddings, modulation, norms and the ends; with their peak rates."""
    split, matrices = {}, []
    for block in [*model["dit"].context_refiner, *model["dit"].noise_refiner, *model["dit"].layers]:
        matrices += [block.attention.qkv.weight, block.attention.out.weight]
        matrices += [block.feed_forward.w1.weight, block.feed_forward.w2.weight, block.feed_forward.w3.weight]
        split[id(block.attention.qkv.weight)] = 3
    rest = [p for p in model.parameters() if not any(p is m for m in matrices)]
    return [(Muon(matrices, lr=4e-3, decay=0.1, split=split), 4e-3), (torch.optim.Adam(rest, lr=2e-3, betas=(0.9, 0.98), fused=True), 2e-3)]


def shifted(sigma: torch.Tensor, shift: float) -> torch.Tensor:
    return shift * sigma / (1 + (shift - 1) * sigma)


def load(path: pathlib.Path, ema: bool = True):
    """The model in a checkpoint, its averaged weights by default, and its shape."""
    saved = torch.load(path)
    shape = Shape(**saved["shape"])
    model = build(shape, saved["used"])
    model.load_state_dict(saved["ema" if ema else "model"])
    return model, shape


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("latents", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--part", action="append", required=True, help="NAME=SHARE of the steps, NAME as encode.py wrote it")
    parser.add_argument("--batch-tokens", type=int, default=64 * 64, help="picture tokens in a batch")
    parser.add_argument("--rate", type=float, default=1.0, help="factor on the learning rates")
    parser.add_argument("--cool", type=float, default=0.5, help="share of the run over which the rate falls to nothing")
    parser.add_argument("--shift", type=float, default=2.0)
    parser.add_argument("--start", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    rng = np.random.default_rng(arguments.seed)
    parts, captions, shares = {}, {}, []
    for part in arguments.part:
        name, share = part.split("=")
        parts[name] = np.load(arguments.latents / f"{name}.npy", mmap_mode="r")
        captions[name] = Captions(arguments.data / f"{name.split('-')[0]}.json", len(parts[name]))
        shares.append(float(share))
        print(name, parts[name].shape, dict(zip(captions[name].paddings, captions[name].shares)), flush=True)
    shares = np.array(shares) / sum(shares)

    shape = Shape(layers=arguments.layers)
    spent, step = 0.0, 0
    if arguments.out.exists():
        saved = torch.load(arguments.out)
        spent, step = saved["spent"], saved["step"]
    elif arguments.start:
        saved = torch.load(arguments.start)
    else:
        saved = None
    if saved:
        shape = Shape(**saved["shape"])
    used = saved["used"] if saved else vocabulary(arguments.data)
    model = build(shape, used)
    if saved:
        model.load_state_dict(saved["model" if spent else "ema"])
    average = copy.deepcopy(model).eval().requires_grad_(False)
    if saved:
        average.load_state_dict(saved["ema"])
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, {len(used)} tokens known", flush=True)
    square = torch.compile(model["dit"], dynamic=False)

    both = optimisers(model)
    budget = arguments.minutes * 60
    began = time.time() - spent
    log = open(arguments.out.with_suffix(".csv"), "a", newline="")
    writer = csv.writer(log)
    losses = []

    def save():
        state = {"model": model.state_dict(), "ema": average.state_dict(), "used": used, "shape": vars(shape)}
        temporary = arguments.out.with_suffix(".tmp")
        torch.save({**state, "spent": time.time() - began, "step": step}, temporary)
        temporary.replace(arguments.out)

    while (elapsed := time.time() - began) < budget:
        factor = schedule(int(elapsed), int(budget), 30, arguments.cool) * arguments.rate
        for optimiser, rate in both:
            for group in optimiser.param_groups:
                group["lr"] = rate * factor
        name = list(parts)[rng.choice(len(parts), p=shares)]
        rows, columns = (edge // 2 for edge in parts[name].shape[2:])
        count = max(1, arguments.batch_tokens // (rows * columns))
        pictures, ids, lengths = captions[name].draw(rng, count)
        x = torch.from_numpy(parts[name][pictures].astype(np.float32))
        noise = torch.randn_like(x)
        sigma = shifted(torch.sigmoid(torch.randn(count)), arguments.shift)
        mix = (1 - sigma[:, None, None, None]) * x + sigma[:, None, None, None] * noise
        instant = 1000 * (1 - sigma)
        target = x - noise
        dit = square if rows == columns else model["dit"]
        loss = (dit(mix, instant, model["text"](ids), lengths) - target).pow(2).mean()
        for optimiser, _ in both:
            optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimiser, _ in both:
            optimiser.step()
        step += 1
        decay = min(EMA, 1 - 1 / (step + 1))
        torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 1 - decay)
        losses.append(loss.item())
        if step % 25 == 0:
            writer.writerow([step, round(time.time() - began, 1), name, round(float(np.mean(losses)), 5)])
            log.flush()
            print(f"{time.time() - began:6.0f} s  step {step}  loss {np.mean(losses):.4f}", flush=True)
            losses = []
        if step % 100 == 0:
            save()
    save()


if __name__ == "__main__":
    main()
