"""Lets a DiT read layouts from noise.

    python pooling.py START.pt OUT.pt

What a layout says (layout.py) are means over the whole picture and over columns of patches. Attention can form them, but finds out late that it should, and training
soon makes it a little uneven, which drowns them: of a model that was trained for hours, a patch knew of five numbers of 25 to within 0.2, and of the others next to
nothing. Here the first noise refiner's attention is set to form just these means: its first head attends to all patches alike, its second to those of the same column,
and what they bring is written where the embedding of patches writes nothing. It is not trained.

Given a checkpoint, it does so for a model that was trained: what its attention brought of each number stays, without the noise. Then its attention is open where the
picture is almost all noise, and closed elsewhere.
"""

import argparse
import math
import pathlib

import numpy as np
import torch

from layout import NUMBER_VALUES, NUMBERS, PROFILE_VALUES, PROFILES, Layout
from model import AXES, HEAD, patches
from sampling import noise_of

GATE = 0.5
ROWS = 16  # of patches, and columns, of the pictures from which sizes are taken
PICTURES = 1600  # from which is learnt what a trained attention brings
BROUGHT = 2.0  # length of what each number adds to what a trained attention brought of it
CONSTANT = 2.5  # times as long as all that is brought
OPEN, SHUT = 0.97, 0.80  # noise levels between which a trained model's attention closes


def fixed_modules(dit):
    """The modules that bring every patch what layouts say, and say when. They are not trained: steps that make the attention a little uneven would soon drown it in noise."""
    block = dit.noise_refiner[0]
    return dit.x_embedder, dit.t_embedder, block.attention, block.attention_norm1, block.attention_norm2, block.adaLN_modulation


def _attend(block, one: torch.Tensor):
    """Has the first head attend to all patches alike, the second to those of a column; returns the matrices of values [heads, HEAD, width] and of what comes
    out [width, heads, HEAD], all zeros. `one` is a direction in which all patches have the same positive amount."""
    width = len(one)
    block.attention_norm1.weight.fill_(1)
    for norm in (block.attention.q_norm, block.attention.k_norm):
        norm.weight.fill_(1.3)
    query, key, value = block.attention.qkv.weight.zero_().view(3, width // HEAD, HEAD, width)
    for side in (query, key):
        side[0, 0 : AXES[0] : 2] = one  # turned by the text's position alone, which all patches share
        side[1, AXES[0] + AXES[1] : AXES[0] + AXES[1] + 6 : 2] = one  # turned by the three quickest angles of the column
    return value, block.attention.out.weight.zero_().view(width, width // HEAD, HEAD)


@torch.no_grad()
def pool_noise(dit):
    """Sets the attention of a new DiT's first noise refiner; its feed-forward stays."""
    embedder, block, width = dit.x_embedder, dit.noise_refiner[0], dit.shape.width
    weight = embedder.weight
    whole, values, _ = torch.linalg.svd(weight, full_matrices=True)
    free = whole[:, len(values) :]  # directions that the embedding leaves empty
    one = free[:, 0]  # of which one gets a constant
    size = weight.norm()
    constant = 0.7 * size
    embedder.bias += one * (constant - one @ embedder.bias)

    modulation = block.adaLN_modulation[0]
    for part, bias in ((0, 0.0), (1, math.atanh(GATE))):  # scale and gate of the attention, at every noise level
        modulation.weight[part * width : (part + 1) * width].zero_()
        modulation.bias[part * width : (part + 1) * width].fill_(bias)
    value, out = _attend(block, one)
    inverse = torch.linalg.pinv(weight)
    place = 1
    for head, wanted, unit in ((0, NUMBER_VALUES, float(ROWS)), (1, PROFILE_VALUES, math.sqrt(ROWS))):  # of means over all patches and over columns
        count = wanted.stop - wanted.start
        value[head, :count] = inverse[wanted]
        out[:, head, :count] = free[:, place : place + count] * unit
        place += count
    # Beside a constant of twice their size, the norm that follows hardly changes with what they are.
    value[0, HEAD - 1] = one
    out[:, 0, HEAD - 1] = free[:, place] * (2 * math.sqrt(place - 1) / constant)
    brought = math.sqrt(width / (5 * (place - 1)))  # deviation of each after the norm
    block.attention_norm2.weight.fill_(size / math.sqrt(weight.shape[1]) / (brought * GATE))


def _brought(dit):
    """What a trained attention adds to a patch of noise alone: by number [NUMBERS, width], by value of the column's profiles [PROFILES, width] and always [width];
    and the root of the mean square of what it sees."""
    block, rng = dit.noise_refiner[0], np.random.default_rng(5)
    several = [Layout.sample(rng, ROWS * 16, ROWS * 16) for _ in range(PICTURES)]
    flat = torch.from_numpy(np.stack([layout.flat() for layout in several]))
    scale, gate, _, _ = block.adaLN_modulation(dit.t_embedder(torch.zeros(1)))[0].chunk(4)
    cos, sin = dit.turns(0, ROWS, ROWS, dit.x_embedder.weight)
    columns, sizes = [], []
    for start in range(0, PICTURES, 64):
        x = dit.x_embedder(patches(noise_of(flat[start : start + 64], ROWS, ROWS)))
        added = torch.tanh(gate) * block.attention_norm2(block.attention(block.attention_norm1(x) * (1 + scale), cos, sin))
        columns.append(added.view(-1, ROWS, ROWS, dit.shape.width).mean(1))
        sizes.append(x.pow(2).mean(-1).sqrt().flatten())
    columns = torch.cat(columns)
    numbers = torch.from_numpy(np.stack([np.append(layout.numbers, np.float32(1)) for layout in several]))
    by_number = torch.linalg.lstsq(numbers, columns.mean(1)).solution
    profiles = torch.from_numpy(np.stack([layout.profiles.T for layout in several])).flatten(0, 1)
    by_profile = torch.linalg.lstsq(profiles, (columns - (numbers @ by_number)[:, None]).flatten(0, 1)).solution
    return by_number[:-1], by_profile, by_number[-1], float(torch.cat(sizes).mean())


@torch.no_grad()
def pool_trained(dit):
    """Sets the attention of a trained DiT's first noise refiner."""
    embedder, block, width = dit.x_embedder, dit.noise_refiner[0], dit.shape.width
    by_number, by_profile, always, size = _brought(dit)
    free = torch.linalg.svd(embedder.weight, full_matrices=True)[0][:, embedder.weight.shape[1] :]  # directions that the embedding leaves empty
    one = free @ (free.T @ embedder.bias)
    constant = float(one.norm())
    one = one / constant
    free = torch.linalg.qr(torch.cat([one[:, None], free], 1)).Q[:, 1:]  # without that one
    by_number = by_number + BROUGHT * free[:, : len(NUMBERS)].T
    by_profile = by_profile + 2 * BROUGHT * free[:, len(NUMBERS) : len(NUMBERS) + len(PROFILES)].T
    # A large constant where little is brought keeps the norm that follows from changing with what is; the norm's weight takes it away again.
    energy = by_number.pow(2).sum(0) + by_profile.pow(2).sum(0) + always**2
    place, large = int(energy.argmin()), CONSTANT * float(energy.sum().sqrt())
    by_number[:, place], by_profile[:, place], always[place] = 0, 0, large

    value, out = _attend(block, one)
    inverse = torch.linalg.pinv(embedder.weight)
    inverse -= torch.outer(inverse @ embedder.bias, one) / constant
    value[0, : len(NUMBERS)] = inverse[NUMBER_VALUES]
    value[0, HEAD - 1] = one
    value[1, : len(PROFILES)] = inverse[PROFILE_VALUES]
    out[:, 0, : len(NUMBERS)] = by_number.T * (ROWS * size)
    out[:, 0, HEAD - 1] = always * (size / constant)
    out[:, 1, : len(PROFILES)] = by_profile.T * (math.sqrt(ROWS) * size)
    block.attention_norm2.weight.fill_(math.sqrt((large**2 + float(energy.sum())) / width) / GATE)
    block.attention_norm2.weight[place] = 0

    times = torch.arange(0, 1001, 2).float()
    known = torch.cat([dit.t_embedder(times), torch.ones(len(times), 1)], 1).double()
    wanted = torch.atanh(GATE * torch.clamp((1 - times / 1000 - SHUT) / (OPEN - SHUT), 0, 1)).double()
    weights = torch.ones(len(times), 1)
    weights[0] = 100  # a picture begins there
    # Small weights: they are kept in 16 bits.
    gate = torch.linalg.solve((known * weights).T @ known + 1e-2 * torch.eye(known.shape[1]), (known * weights).T @ wanted).float()
    modulation = block.adaLN_modulation[0]
    modulation.weight[:width].zero_()
    modulation.bias[:width].zero_()
    modulation.weight[width : 2 * width] = gate[:-1]
    modulation.bias[width : 2 * width] = gate[-1]


def main():
    from train import load, save_weights  # which takes pool_noise from here

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("start", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    model, shape = load(arguments.start)
    pool_trained(model["dit"])
    save_weights(arguments.out, model.state_dict(), vars(shape))


if __name__ == "__main__":
    main()
