"""Trains the DiT and the text encoder together by rectified flow on latents.

    python train.py SHARDS OUT.pt --minutes 30 --share 256x256=0.8 --share other=0.1 --share 128x128=0.1 [--start FILE.pt] [--keep 0.5]

With noise n, picture latent x and sigma in 0..1 the model sees (1 - sigma) x + sigma n at time 1000 (1 - sigma) and predicts x - n. Sigma is a
logit-normal draw moved by a shift that grows with the picture: 3 at 256 x 256, as the engine's schedule has it. The noise holds the picture's layout (layout.py)
and is drawn anew in all that the layout leaves free. Some pictures are of no words, for guidance away from words to leave out.

A run goes on from OUT.pt if it is there (weights, averages and optimisers), else from the averaged weights of --start, else from nothing. Shards that
shards.py writes meanwhile are taken in. OUT.csv is the loss curve. BF16 where the processor multiplies it (or on CUDA), else F32.

`--keep 0.5` lets the layers see a random half of each batch's patches, after the noise refiner saw them all: steps take less time, and the loss is that of
the patches kept (V. Sehwag et al., "Stretching each dollar: diffusion training from scratch on a micro-budget", 2024). A last run without it must follow.

From the states after its fourth layer the model also has to say how much of each patch is sky, sun, peak, pine, cabin ... (parts.py), which pulls the first
layers towards what a picture shows. Source of the idea: S. Yu et al., "Representation alignment for generation: training diffusion transformers is easier than
you think" (2025), whose features are another network's; a program that draws knows them exactly.
"""

import argparse
import collections
import concurrent.futures
import copy
import csv
import json
import math
import pathlib
import re
import time

import numpy as np
import torch
import torch.nn.functional as F

import tokens
from completion import renumbered
from exclusions import WITHOUT
from layout import NUMBERS, Layout
from model import Dit, Shape, TextEncoder, patches
from muon import Muon, schedule
from parts import PARTS
from pooling import fixed_modules, set_noise_refiner
from sampling import noise_of

LOOK = 200  # steps between two looks for new shards
SAVE = 120  # seconds between two checkpoints
NAMED = 3  # the layer after which it has to say what the patches show
# Captions drawn twice as often: what they name is small, full of detail or hard to tell from the rest, and learnt last. Those that say what is not there come four
# times: each thing is in few of them.
HARD = re.compile(
    "|".join(
        (
            r"\b(snow|snowy|snow-\w+|peaks|sun|sunshine|moon|moonlight|stars|starry|aurora|northern lights|rain|rainy)\b",
            r"\b(city|skyline|skyscrapers|towers|buildings|cabin|cottage|house|hut|windmill|mill|lighthouse)\b",
            r"\b((lone|lonely|single|one) tree|deer|stag|lake|blue|poster)\b",
        )
    ),
    re.IGNORECASE,
)


class Part:
    """The pictures of one size and their captions, grouped by how many text positions the DiT pads them to."""

    def __init__(self):
        self.latents, self.shown, self.layouts = [], [], []
        self.by_padding = {}

    def add(self, path: pathlib.Path, texts, shown: np.ndarray, layouts: np.ndarray):
        """`shown` is the coverage of parts.py, for patches of the pictures' full size: halves have the means of four, and halves of `layouts`."""
        shard = len(self.latents)
        self.latents.append(np.load(path, mmap_mode="r"))
        rows = self.latents[-1].shape[2] // 2
        if rows < shown.shape[1]:
            layouts = np.stack([Layout.of_flat(values, *shown.shape[1:3]).halved().flat() for values in layouts])
            shown = shown.reshape(len(shown), rows, 2, -1, 2, shown.shape[-1]).mean((2, 4)).astype(np.uint8)
        self.layouts.append(layouts)
        self.shown.append(shown.reshape(len(shown), -1, shown.shape[-1]))
        for picture, several in enumerate(texts):
            for text in several:
                ids = tokens.tokens(text)
                times = 4 if WITHOUT in text else 2 if HARD.search(text) else 1
                self.by_padding.setdefault(tokens.padded(len(ids)), []).extend([(shard, picture, ids)] * times)

    def draw(self, rng, count: int):
        """Latents, ids [count, padding] and lengths of `count` captions of one padding, what the patches show [count, patches, PARTS], of 255, and layouts."""
        paddings = sorted(self.by_padding)
        sizes = np.array([len(self.by_padding[padding]) for padding in paddings])
        padding = paddings[rng.choice(len(paddings), p=sizes / sizes.sum())]
        chosen = [self.by_padding[padding][n] for n in rng.integers(0, len(self.by_padding[padding]), count)]
        ids = np.zeros((count, padding), np.int64)
        lengths = np.zeros(count, np.int64)
        for n, (_, _, words) in enumerate(chosen):
            ids[n, : len(words)] = words
            lengths[n] = len(words)
        latents, shown, layouts = (np.stack([held[shard][picture] for shard, picture, _ in chosen]) for held in (self.latents, self.shown, self.layouts))
        # Or a picture would be known by its numbers.
        layouts[:, : len(NUMBERS)] = renumbered(layouts[:, : len(NUMBERS)], rng)
        return tuple(torch.from_numpy(array) for array in (latents, ids, lengths, shown, layouts))


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
            shown, layouts = (np.load(done.with_suffix(ending)) for ending in (".parts.npy", ".layouts.npy"))
            for path in self.folder.glob(f"{done.stem}-*.npy"):
                self.parts.setdefault(path.stem.split("-")[1], Part()).add(path, texts, shown, layouts)

    def shares(self, wanted: dict[str, float]):
        """Sizes that are there, and the share of the steps for each. Those not named share alike in "large", of more than 300 patches, or "other"."""
        groups = {size: size if size in wanted else "large" if math.prod(map(int, size.split("x"))) > 300 * 256 else "other" for size in self.parts}
        members = collections.Counter(groups.values())
        shares = {size: wanted.get(group, 0.0) / members[group] for size, group in sorted(groups.items())}
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


def naming_head(width: int) -> torch.nn.Sequential:
    """From a layer's states of patches to logits of the parts that they show."""
    return torch.nn.Sequential(torch.nn.LayerNorm(width), torch.nn.Linear(width, width), torch.nn.SiLU(), torch.nn.Linear(width, PARTS))


def optimisers(model, kind=torch.float32):
    """Muon for the blocks' matrices, Adam for embeddings, modulation, norms and the ends; with their peak rates."""
    split, matrices = {}, []
    for block in [*model["dit"].context_refiner, *model["dit"].noise_refiner, *model["dit"].layers]:
        matrices += [block.attention.qkv.weight, block.attention.out.weight]
        matrices += [block.feed_forward.w1.weight, block.feed_forward.w2.weight, block.feed_forward.w3.weight]
        split[id(block.attention.qkv.weight)] = 3
    matrices = [p for p in matrices if p.requires_grad]
    rest = [p for p in model.parameters() if p.requires_grad and not any(p is m for m in matrices)]
    return [
        (Muon(matrices, lr=4e-3, decay=0.1, split=split, kind=kind), 4e-3),
        (torch.optim.Adam(rest, lr=2e-3, betas=(0.9, 0.98), fused=True), 2e-3),
    ]


def precision(device: str) -> torch.dtype:
    """BF16 where it is faster than F32: some processors that have it multiply it at half the speed."""
    if device != "cpu":
        return torch.bfloat16
    if not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return torch.float32
    return min((torch.float32, torch.bfloat16), key=product_seconds)


def product_seconds(kind: torch.dtype) -> float:
    """Seconds of a product of two matrices, the quickest of several."""
    factor, quickest = torch.randn(1024, 1024).to(kind), math.inf
    for _ in range(5):
        began = time.perf_counter()
        factor @ factor
        quickest = min(quickest, time.perf_counter() - began)
    return quickest


def levels(count: int, patches: int, alone: float, device: str) -> torch.Tensor:
    """Noise levels sigma [count] for pictures of so many patches; noise alone, where the composition is settled, in a share `alone` of them."""
    shift = 3.0 * (patches / 256) ** 0.3
    sigma = torch.sigmoid(torch.randn(count, device=device))
    sigma = shift * sigma / (1 + (shift - 1) * sigma)
    return torch.where(torch.rand(count, device=device) < alone, 1.0, sigma)


def load(path: pathlib.Path, ema: bool = True):
    """The model in a checkpoint, its averaged weights by default, and its shape."""
    saved = torch.load(path, map_location="cpu")
    shape = Shape(**saved["shape"])
    model = build(shape, saved["used"])
    model.load_state_dict(saved["ema" if ema else "model"])
    return model, shape


def save_weights(path: pathlib.Path, weights: dict, shape: dict, others: dict = {}):
    """Writes a checkpoint that holds weights and nothing of a run, for --start, and the states of other modules by their names."""
    torch.save({"model": weights, "ema": weights, "used": weights["text.used"], "shape": shape, "others": others, "spent": 0.0, "step": 0}, path)


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


def options(description: str) -> argparse.ArgumentParser:
    """What every training of the DiT is told."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("shards", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, required=True, help="of the whole run, what is done already counted in")
    parser.add_argument("--share", action="append", required=True, help="SIZE=SHARE of the steps, SIZE as 256x256, `other` or `large`")
    parser.add_argument("--batch-tokens", type=int, default=24 * 256, help="picture tokens in a batch")
    parser.add_argument("--rate", type=float, default=1.0, help="factor on the learning rates")
    parser.add_argument("--cool", type=float, default=0.5, help="share of the run over which the rate falls to nothing; 0 for a run that others go on from")
    parser.add_argument("--average", type=float, default=0.99, help="of the exponential average, per step")
    parser.add_argument("--start", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=7, help="of a model that starts from nothing")
    parser.add_argument("--text-width", type=int, default=48, help="likewise: the text encoder's file is 0.3 MB for each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    return parser


def clock(device: str) -> float:
    """Seconds: on a processor those in which this program had it, so that other work delays a run and does not shorten it."""
    return time.process_time() / torch.get_num_threads() if device == "cpu" else time.time()


class Run:
    """A training that can be stopped at any time and goes on from its last checkpoint."""

    def __init__(self, options):
        self.options, self.device, self.kind = options, options.device, precision(options.device)
        self.shards = Shards(options.shards)
        self.shares = {size: float(share) for size, share in (word.split("=") for word in options.share)}
        shape, used = Shape(layers=options.layers, text_width=options.text_width), vocabulary(options.shards)
        spent, self.step, saved = 0.0, 0, {}
        if options.out.exists():
            saved = torch.load(options.out, map_location="cpu")
            spent, self.step = saved["spent"], saved["step"]
        elif options.start:
            saved = torch.load(options.start, map_location="cpu")
            saved = {"model": saved["ema"], "ema": dict(saved["ema"]), "used": saved["used"], "shape": saved["shape"]}
        if saved:
            widen(saved, used)
            shape, used = Shape(**saved["shape"]), saved["used"]
        torch.manual_seed(options.seed + self.step)
        self.rng = np.random.default_rng((options.seed, self.step))
        self.model = build(shape, used)
        if saved:
            self.model.load_state_dict(saved["model"])
        else:
            set_noise_refiner(self.model["dit"])
        self.average = copy.deepcopy(self.model).eval().requires_grad_(False)
        if saved:
            self.average.load_state_dict(saved["ema"])
        for module in fixed_modules(self.model["dit"]):
            module.requires_grad_(False)
        self.model.to(self.device)
        self.average.to(self.device)
        self.optimisers = optimisers(self.model, self.kind)
        for (optimiser, _), state in zip(self.optimisers, saved.get("optimisers", [])):
            optimiser.load_state_dict(state)
        self.compiled, self.others, self.stored = {}, {}, saved.get("others", {})
        self.began = clock(self.device) - spent
        count = sum(p.numel() for p in self.model.parameters())
        print(f"{count / 1e6:.2f} M parameters, {len(used)} tokens known, {self.kind} on {self.device}, from step {self.step}", flush=True)

    def add_to_checkpoint(self, name: str, trained):
        """Has the state of another module or optimiser in the checkpoints, and gives it what the last one holds of it."""
        self.others[name] = trained
        if name in self.stored:
            trained.load_state_dict(self.stored[name])

    def spent(self) -> float:
        """Seconds on that clock, those before the last stop counted in."""
        return clock(self.device) - self.began

    def save(self):
        dit = self.model["dit"]
        state = {"model": self.model.state_dict(), "ema": self.average.state_dict(), "used": self.model["text"].used.cpu(), "shape": vars(dit.shape)}
        state["optimisers"] = [optimiser.state_dict() for optimiser, _ in self.optimisers]
        state["others"] = {name: other.state_dict() for name, other in self.others.items()}
        temporary = self.options.out.with_suffix(".tmp")
        torch.save({**state, "spent": self.spent(), "step": self.step}, temporary)
        temporary.replace(self.options.out)

    def precise(self):
        """The context in which modules compute."""
        return torch.autocast(torch.device(self.device).type, self.kind, enabled=self.kind != torch.float32)

    def draw(self, step: int):
        """A batch for this step: its size in words, latents, token ids, their lengths, what the patches show, and layouts."""
        if step % LOOK == 0:
            self.shards.look()
        sizes, shares = self.shards.shares(self.shares)
        size = sizes[self.rng.choice(len(sizes), p=shares)]
        columns, rows = (int(edge) // 16 for edge in size.split("x"))
        return size, *self.shards.parts[size].draw(self.rng, max(1, self.options.batch_tokens // (rows * columns)))

    def quickest(self, dit, latents, padding: int):
        """A DiT, compiled for the sizes that have a share of their own: compiling for all would take longer than it saves."""
        rows, columns = (edge // 2 for edge in latents.shape[2:])
        dit.turns(padding, rows, columns, torch.empty(0, device=self.device, dtype=self.kind))
        if f"{columns * 16}x{rows * 16}" not in self.shares or padding != tokens.PADDING:
            return dit
        if id(dit) not in self.compiled:
            self.compiled[id(dit)] = torch.compile(dit, dynamic=False)
        return self.compiled[id(dit)]

    def go(self, loss_of):
        """Trains for the minutes given. `loss_of(latents, ids, lengths, shown, layouts)` is the loss of a batch."""
        budget = self.options.minutes * 60
        stored, losses = time.time(), {}
        with open(self.options.out.with_suffix(".csv"), "a", newline="") as log, concurrent.futures.ThreadPoolExecutor(1) as ahead:
            writer = csv.writer(log)
            following = ahead.submit(self.draw, self.step)
            while self.spent() < budget:
                size, *batch = following.result()
                following = ahead.submit(self.draw, self.step + 1)
                latents, *rest = (tensor.to(self.device) for tensor in batch)
                factor = schedule(int(self.spent()), int(budget), 30, self.options.cool) * self.options.rate
                for optimiser, rate in self.optimisers:
                    optimiser.zero_grad()
                    for group in optimiser.param_groups:
                        group["lr"] = rate * factor
                loss = loss_of(latents.float(), *rest)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                for optimiser, _ in self.optimisers:
                    optimiser.step()
                self.step += 1
                decay = min(self.options.average, 1 - 1 / (self.step + 1))
                torch._foreach_lerp_(list(self.average.parameters()), list(self.model.parameters()), 1 - decay)
                losses.setdefault(size, []).append(loss.detach())
                if self.step % 25 == 0:
                    means = {size: float(torch.stack(several).mean()) for size, several in losses.items()}
                    for size, mean in means.items():
                        writer.writerow([self.step, round(self.spent(), 1), size, round(mean, 5)])
                    log.flush()
                    print(f"{self.spent():6.0f} s  step {self.step}  " + "  ".join(f"{size} {mean:.4f}" for size, mean in means.items()), flush=True)
                    losses = {}
                if time.time() - stored > SAVE:
                    self.save()
                    stored = time.time()
        self.save()


def main():
    parser = options(__doc__)
    parser.add_argument("--keep", type=float, default=1.0, help="share of the patches that the layers see")
    parser.add_argument("--alone", type=float, default=0.25, help="share of the pictures that are seen as noise alone")
    parser.add_argument("--name", type=float, default=0.05, help="weight of naming what the patches show")
    arguments = parser.parse_args()
    run = Run(arguments)
    names = naming_head(run.model["dit"].shape.width).to(run.device)
    run.add_to_checkpoint("names", names)
    optimiser = torch.optim.Adam(names.parameters(), lr=1e-3, betas=(0.9, 0.98))
    run.add_to_checkpoint("names' optimiser", optimiser)
    run.optimisers.append((optimiser, 1e-3))
    seen = []

    def loss_of(x, ids, lengths, shown, layouts):
        rows, columns = (edge // 2 for edge in x.shape[2:])
        noise, count = noise_of(layouts.float(), rows, columns), rows * columns
        sigma = levels(len(x), count, arguments.alone, run.device)
        mix, target, kept = torch.lerp(x, noise, sigma[:, None, None, None]), x - noise, None
        if arguments.keep < 1:
            kept = torch.randperm(count, device=run.device)[: int(count * arguments.keep)].sort().values
            target, shown = patches(target)[:, kept], shown[:, kept]
        with run.precise():
            dit = run.quickest(run.model["dit"], x, ids.shape[1])
            velocity, states = dit(mix, 1000 * (1 - sigma), run.model["text"](ids), lengths, kept, state_of=NAMED)
            logits = names(states)
        naming = F.cross_entropy(logits.float().flatten(0, 1), shown.flatten(0, 1).float() / 255)
        seen.append(naming.detach())
        if len(seen) == 25:
            print(f"naming {float(torch.stack(seen).mean()):.4f}", flush=True)
            seen.clear()
        return (velocity.float() - target).pow(2).mean() + arguments.name * naming

    run.go(loss_of)


if __name__ == "__main__":
    main()
