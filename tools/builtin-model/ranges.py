"""Between which bounds the contents of drawings with a caption lie: how much of each part they show, and their colours.

    python ranges.py SHARDS OUT.pt --teacher TEACHER.pt [--shards-used 12]

Contents are what a trained DiT names in latents (`naming_head` of train.py), as the logarithm of patches for each part; how far the patches of what a drawing
has once lie apart; and the mean latents of the upper two fifths and of the rest. A small network learns, from the captions of drawings, below and above which
a twentieth of them lie each (quantile regression), so that a picture can be asked for as much as its caption says and is free in everything else.
"""

import argparse
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import tokens
from model import LATENT_CHANNELS, TextEncoder
from muon import schedule
from parts import NAMES, PARTS
from sampling import token_batch
from train import NAMED, Shards, load, load_naming_head, precision, vocabulary

LEVEL = 0.15  # of the noise under which patches are named: the DiT saw little with less
ONCE = [NAMES.index(name) for name in ("disc", "front_boat", "front_cabin", "front_lone_tree")]
CONTENTS = PARTS + len(ONCE) + 2 * LATENT_CHANNELS
TAIL = 0.05  # share of the drawings below the lower bound, and above the upper
LEAST = 0.25  # patches of 256 that count as nothing, in the logarithm
NARROWEST = 0.2  # deviation of a content over all drawings that is taken at least: what hardly any drawing has would weigh most


def amounts(shares: torch.Tensor) -> torch.Tensor:
    """The logarithm of how many patches of 256 each part covers [batch, PARTS], of its shares of each patch [batch, patches, PARTS].

    Its gradient is that of the logarithm without LEAST, which does not vanish where a part is missing altogether."""
    covered = shares.sum(1) * (256 / shares.shape[1])
    slope = (covered + 1e-4).log()
    return (covered + LEAST).log().detach() + slope - slope.detach()


def spreads(shares: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    """How far apart the patches of each of ONCE lie [batch, ONCE]: the logarithm of the variance of their places, in patches squared, plus 1."""
    y, x = torch.meshgrid(torch.arange(rows, device=shares.device), torch.arange(columns, device=shares.device), indexing="ij")
    place = torch.stack([y.flatten(), x.flatten()], -1).float()
    # Squares, so that many patches with a little of it do not count as much as one with all.
    weights = shares[..., ONCE].square().transpose(1, 2)
    weights = weights / (weights.sum(-1, keepdim=True) + LEAST)
    moment = weights @ place
    variance = (weights @ place.square()).sum(-1) - moment.square().sum(-1) / (weights.sum(-1) + 1e-6)
    return (variance.clamp(min=0) + 1).log()


class Contents(nn.Module):
    """What latents show. Holds a frozen DiT and its naming head."""

    def __init__(self, path: pathlib.Path):
        super().__init__()
        self.model, shape = load(path)
        self.names = load_naming_head(path, shape.width)
        blank, lengths = token_batch([tokens.tokens("")])
        self.register_buffer("blank", blank)
        self.register_buffer("blank_lengths", lengths)
        self.eval().requires_grad_(False)

    def forward(self, latents, dit=None):
        """Contents [batch, CONTENTS] of latents without noise. `dit` is the compiled one, where there is one."""
        rows, columns = latents.shape[2] // 2, latents.shape[3] // 2
        count = len(latents)
        noised = torch.lerp(latents, torch.randn_like(latents), LEVEL)
        time = torch.full((count,), 1000 * (1 - LEVEL), device=latents.device)
        # Without its caption, so that nothing is named because it was asked for.
        blank = self.model["text"](self.blank.repeat(count, 1))
        (states,) = (self.model["dit"] if dit is None else dit)(noised, time, blank, self.blank_lengths.expand(count), None, (NAMED,))
        shares = self.names(states).float().softmax(-1)
        upper = int(latents.shape[2] * 0.4)
        colours = [latents[:, :, :upper].mean((2, 3)), latents[:, :, upper:].mean((2, 3))]
        return torch.cat([amounts(shares), spreads(shares, rows, columns), *colours], 1)


class Ranges(nn.Module):
    """The bounds of the contents that drawings with a caption have, and a penalty for what lies outside."""

    def __init__(self, used: torch.Tensor, inner: int = 128):
        super().__init__()
        self.words = TextEncoder(inner, used)
        self.bounds = nn.Sequential(nn.Linear(inner, 2 * inner), nn.SiLU(), nn.Linear(2 * inner, 2 * inner), nn.SiLU(), nn.Linear(2 * inner, 2 * CONTENTS))
        self.register_buffer("mean", torch.zeros(CONTENTS))
        self.register_buffer("deviation", torch.ones(CONTENTS))

    def forward(self, ids, lengths):
        """Lower and upper bounds [2, batch, CONTENTS], in deviations from the mean, of captions' token ids [batch, padded] with so many real ones."""
        known = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        words = (self.words(ids) * known[..., None]).sum(1) / lengths[:, None].sqrt()
        return self.bounds(words).unflatten(1, (2, CONTENTS)).transpose(0, 1)

    def scaled(self, contents):
        return (contents - self.mean) / self.deviation

    def below_and_above(self, contents, ids, lengths):
        """How many deviations each content of a picture lies below the bounds of its caption, and how many above [batch, CONTENTS]."""
        lower, upper = self(ids, lengths)
        scaled = self.scaled(contents)
        return F.relu(lower - scaled), F.relu(scaled - upper)

    def outside(self, contents, ids, lengths):
        """How many deviations each content of a picture lies outside the bounds of its caption [batch, CONTENTS]."""
        return sum(self.below_and_above(contents, ids, lengths))


def load_ranges(path: pathlib.Path) -> Ranges:
    saved = torch.load(path, map_location="cpu")
    ranges = Ranges(saved["used"])
    ranges.load_state_dict(saved["ranges"])
    return ranges.eval().requires_grad_(False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shards", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--teacher", type=pathlib.Path, required=True)
    parser.add_argument("--shards-used", type=int, default=12)
    parser.add_argument("--steps", type=int, default=1500)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    contents = Contents(arguments.teacher)
    rng = np.random.default_rng(0)
    part = Shards(arguments.shards).parts["256x256"]
    chosen = sorted(rng.permutation(len(part.latents))[: arguments.shards_used])
    found, kind = {}, precision("cpu")
    with torch.inference_mode(), torch.autocast("cpu", kind, enabled=kind != torch.float32):
        for shard in chosen:
            latents = torch.from_numpy(np.array(part.latents[shard])).float()
            found[shard] = torch.cat([contents(batch) for batch in latents.split(50)])
    everything = torch.cat(list(found.values()))
    pairs = [(shard, picture, ids) for several in part.by_padding.values() for shard, picture, ids in several if shard in found]
    used = vocabulary(arguments.shards)
    ranges = Ranges(used)
    ranges.mean.copy_(everything.mean(0))
    ranges.deviation.copy_(everything.std(0).clamp(min=NARROWEST))
    ids, lengths = token_batch([words for _, _, words in pairs])
    wanted = torch.stack([found[shard][picture] for shard, picture, _ in pairs])
    held = torch.rand(len(pairs)) < 0.1  # captions, not pictures: only to see that bounds hold
    order = torch.arange(len(pairs))[~held]
    optimiser = torch.optim.Adam(ranges.parameters(), lr=2e-3)
    tails = torch.tensor([TAIL, 1 - TAIL])[:, None, None]
    for step in range(arguments.steps):
        for group in optimiser.param_groups:
            group["lr"] = 2e-3 * schedule(step, arguments.steps, 1, 1.0)
        batch = order[torch.randint(len(order), (512,))]
        above = ranges.scaled(wanted[batch]) - ranges(ids[batch], lengths[batch])
        loss = torch.maximum(tails * above, (tails - 1) * above).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if (step + 1) % 250 == 0:
            print(f"{step + 1} steps, {float(loss.detach()):.4f}", flush=True)
    with torch.inference_mode():
        outside = ranges.outside(wanted[held], ids[held], lengths[held])
        lower, upper = ranges(ids[held], lengths[held])
    print(f"{len(everything)} drawings, {len(pairs)} captions; of held-out captions {float((outside > 0).float().mean()):.3f} of the contents outside, width {float((upper - lower).mean()):.2f}")
    torch.save({"ranges": ranges.state_dict(), "used": used}, arguments.out)


if __name__ == "__main__":
    main()
