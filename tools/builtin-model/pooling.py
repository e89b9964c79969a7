"""Lets a DiT read layouts from noise.

What a layout says (layout.py) are means over the whole picture and over columns of patches. Attention can form them, but finds out late that it should, and training
soon makes it a little uneven, which drowns them: of a model that was trained for hours, a patch knew of five numbers of 25 to within 0.2, and of the others next to
nothing. So the first noise refiner is set here, and not trained. Its first head forms means over all patches, its second over those of a column, and what they
bring is written where the embedding of patches writes nothing. The norm after them makes the means the numbers that they stand for, in pictures of every size and at every
noise level. The feed-forward says which of its values each number chooses.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F

from completion import CUTS, quantile
from layout import NUMBERS, PROFILE_DIRECTIONS, PROFILES, SPHERE, SPHERE_DIRECTIONS, Layout
from model import AXES, HEAD, patches
from sampling import noise_of

GATE = 0.5  # where there is noise enough to read
OPEN, SHUT = 0.5, 0.3  # noise levels between which the gates close
SCORE = 1.3  # weight of the norms of queries and keys
ROWS = 16  # of patches, and columns, of the pictures from which sizes are taken
PICTURES = 800  # of noise, from which is learnt what attention brings
LOUD = 2.5  # length of what a number adds to a patch, in deviations of one of a patch's own values
STEP = 5.0  # likewise what a step adds, in units of the state
SLOPE, BEND = 25.0, 2.0  # of the steps: a step is 4 * BEND / SLOPE wide, in deviations of its number
CONSTANT = 2.5  # times as long as all else that the feed-forward brings
PROFILE = 0.6  # length of a profile's value beside a number's


def fixed_modules(dit):
    """The modules that bring every patch what layouts say. They are not trained: steps that make the attention a little uneven would soon drown it in noise."""
    return dit.x_embedder, dit.t_embedder, dit.noise_refiner[0]


@torch.no_grad()
def set_noise_refiner(dit):
    """Sets a DiT's first noise refiner, and the bias of the embedding of patches."""
    embedder, block = dit.x_embedder, dit.noise_refiner[0]
    free = torch.linalg.svd(embedder.weight, full_matrices=True)[0][:, embedder.weight.shape[1] :]  # directions that the embedding leaves empty
    one, size = free[:, 0], embedder.weight.norm()
    embedder.bias += one * (0.7 * size - one @ embedder.bias)
    dit.x_pad_token.copy_(embedder.bias)  # adds nothing to means
    _set_gates(dit)

    # The means that are no numbers are only for the norm, and go where its weight is zero: to the places that numbers use least.
    directions = free[:, 1 : 1 + len(NUMBERS) + len(PROFILES)].clone()
    spare = directions.pow(2).sum(1).argsort()[: SPHERE - len(NUMBERS)]
    directions[spare] = 0
    left, _, right = torch.linalg.svd(directions, full_matrices=False)
    directions = left @ right  # the nearest that are of length 1 and at right angles
    value, out = _attend(dit, one)
    inverse = torch.linalg.pinv(embedder.weight)
    inverse -= torch.outer(inverse @ embedder.bias, one) / (one @ embedder.bias)  # of a patch without the bias
    value[0, :SPHERE] = torch.from_numpy(SPHERE_DIRECTIONS) @ inverse
    out[:, 0, : len(NUMBERS)] = directions[:, : len(NUMBERS)] * ROWS
    out[spare, 0, range(len(NUMBERS), SPHERE)] = float(ROWS)
    value[1, : len(PROFILES)] = torch.from_numpy(PROFILE_DIRECTIONS) @ inverse
    out[:, 1, : len(PROFILES)] = directions[:, len(NUMBERS) :] * math.sqrt(ROWS) * PROFILE
    deviation = math.sqrt(dit.shape.width / SPHERE)  # of each number after the norm
    block.attention_norm2.weight.fill_(LOUD * size / math.sqrt(embedder.weight.shape[1]) / (deviation * GATE))
    block.attention_norm2.weight[spare] = 0
    _choose(dit, int(spare[0]))


def _set_gates(dit):
    """Opens the refiner while there is noise enough to read."""
    times = torch.arange(0, 1001, 2).float()
    is_open = torch.clamp((1 - times / 1000 - SHUT) / (OPEN - SHUT), 0, 1)
    known = torch.cat([dit.t_embedder(times), torch.ones(len(times), 1)], 1).double()
    weights = torch.ones(len(times), 1)
    weights[0] = 100  # a picture begins there
    # Small weights: they are kept in 16 bits.
    fitted = torch.linalg.solve((known * weights).T @ known + 1e-2 * torch.eye(known.shape[1]), (known * weights).T @ torch.atanh(GATE * is_open).double()).float()
    modulation, width = dit.noise_refiner[0].adaLN_modulation[0], dit.shape.width
    weight, bias = modulation.weight.zero_().view(4, width, -1), modulation.bias.zero_().view(4, width)
    for part in (1, 3):  # of attention and feed-forward
        weight[part], bias[part] = fitted[:-1], fitted[-1]


def _attend(dit, one: torch.Tensor):
    """Has the first head attend to all patches, each by its length, the second to those of a column; returns the matrices of values [heads, HEAD, width] and of
    what comes out [width, heads, HEAD], all zeros. `one` is a direction in which all patches have the same positive amount.

    Attention sees patches divided by their lengths, and lengths of noise differ by a tenth: a mean of what it sees misses the mean of the noise by a tenth, if all
    patches weigh the same. So the first head's weights are in proportion to lengths. A key holds all of a patch beside `one`, and as keys are made equally long too, what is
    left of `one` in it is as 1 / sqrt(edge + own), `own` being the square of the length of the rest. Score = -that, times what makes it rise with
    `own` as the logarithm of the whole length does, in its first two derivatives at the mean."""
    embedder, block, width = dit.x_embedder, dit.noise_refiner[0], dit.shape.width
    block.attention_norm1.weight.fill_(1)
    for norm in (block.attention.q_norm, block.attention.k_norm):
        norm.weight.fill_(SCORE)
    query, key, value = block.attention.qkv.weight.zero_().view(3, width // HEAD, HEAD, width)

    own = torch.linalg.svd(embedder.weight, full_matrices=False)[0]
    constant = float(one @ embedder.bias) ** 2
    mean = float(embedder.weight.pow(2).sum() + (own.T @ embedder.bias).pow(2).sum())
    edge = 1.5 * constant + 0.5 * mean
    share = 1.5**1.5 * math.sqrt((constant + mean) / edge / HEAD) / SCORE**2
    # Turned by the text's position alone, which all patches share.
    query[0, 0 : AXES[0] : 2] = -share * one
    query[0, 1 : AXES[0] : 2] = math.sqrt(1 - share**2) * one
    key[0, 0 : AXES[0] : 2] = math.sqrt(edge / constant / (AXES[0] // 2)) * one
    key[0, AXES[0] : AXES[0] + own.shape[1]] = own.T

    for side in (query, key):
        side[1, AXES[0] + AXES[1] : AXES[0] + AXES[1] + 6 : 2] = one  # turned by the three quickest angles of the column
    return value, block.attention.out.weight.zero_().view(width, width // HEAD, HEAD)


def steps() -> list[tuple[int, float]]:
    """Where numbers begin to stand for something else: the number's place among NUMBERS, and the share of its values that lies below."""
    return [(NUMBERS.index(name), float(cut)) for name, cuts in (*CUTS.items(), ("light", (0.5,))) for cut in cuts if cut < 1]


def _choose(dit, spare: int):
    """Sets the feed-forward, for an attention that is set: each place where a number begins to stand for something else has a direction, and along it a patch learns on which
    side the number is. A choice that is sharp steps of a number, some up and some down, is what a network is slowest to find. `spare` is a place that attention leaves empty."""
    embedder, block, width = dit.x_embedder, dit.noise_refiner[0], dit.shape.width
    by_number, by_profile, size = _attended(dit)
    # A patch is a sum of these; the inverse finds the numbers and the constant in it, whatever the others are.
    one = embedder.bias - embedder.weight @ (torch.linalg.pinv(embedder.weight) @ embedder.bias)
    parts = torch.cat([embedder.weight, by_number.T, by_profile.T, one[:, None]], 1)
    found = torch.linalg.pinv(parts)[embedder.weight.shape[1] :] * size
    number, constant = found[: len(NUMBERS)], found[-1]

    places, below = zip(*steps())
    directions = torch.linalg.svd(parts, full_matrices=True)[0][:, parts.shape[1] :][:, : len(places)].T * STEP
    block.ffn_norm1.weight.fill_(1)
    into, out, gate = (linear.weight.zero_() for linear in (block.feed_forward.w1, block.feed_forward.w2, block.feed_forward.w3))
    gate[: 2 * len(places) + 1] = constant
    for n, place in enumerate(places):
        for side, unit in ((1, 2 * n), (-1, 2 * n + 1)):  # two bends, one a little after the other, make a step
            into[unit] = SLOPE * (number[place] - quantile(below[n]) * constant) + side * BEND * constant
            out[:, unit] = side * directions[n] / (2 * BEND)
    above = 1 - torch.tensor(below)
    energy = float((directions.pow(2).sum(1) * above * (1 - above)).sum())
    large, unit = CONSTANT * math.sqrt(energy), 2 * len(places)
    into[unit] = 4 * constant
    out[:, unit] = -(above @ directions)  # so that steps are even on the whole
    out[spare] = 0
    out[spare, unit] = large
    out[:, unit] /= float(F.silu(torch.tensor(4.0)))
    block.ffn_norm2.weight.fill_(math.sqrt((large**2 + energy) / width) / GATE)
    block.ffn_norm2.weight[spare] = 0


def _attended(dit):
    """What attention adds to a patch of noise alone: by number [NUMBERS, width] and by value of the column's profiles [PROFILES, width]; and the root of the mean
    square of a patch with it."""
    block, rng = dit.noise_refiner[0], np.random.default_rng(5)
    several = [Layout.sample(rng, ROWS * 16, ROWS * 16) for _ in range(PICTURES)]
    flat = torch.from_numpy(np.stack([layout.flat() for layout in several]))
    scale, gate, _, _ = block.adaLN_modulation(dit.t_embedder(torch.zeros(1)))[0].chunk(4)
    cos, sin = dit.turns(0, ROWS, ROWS, dit.x_embedder.weight)
    columns, sizes = [], []
    for some in flat.split(50):
        x = dit.x_embedder(patches(noise_of(some, ROWS, ROWS)))
        added = torch.tanh(gate) * block.attention_norm2(block.attention(block.attention_norm1(x) * (1 + scale), cos, sin))
        columns.append(added.view(-1, ROWS, ROWS, dit.shape.width).mean(1))
        sizes.append((x + added).pow(2).mean(-1).sqrt().mean())
    columns = torch.cat(columns)
    numbers = torch.from_numpy(np.stack([layout.numbers for layout in several]))
    by_number = torch.linalg.lstsq(numbers, columns.mean(1)).solution
    profiles = torch.from_numpy(np.stack([layout.profiles.T for layout in several])).flatten(0, 1)
    by_profile = torch.linalg.lstsq(profiles, (columns - (numbers @ by_number)[:, None]).flatten(0, 1)).solution
    return by_number, by_profile, float(torch.stack(sizes).mean())
