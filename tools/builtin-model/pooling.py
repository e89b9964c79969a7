"""Lets a DiT read layouts from noise from the first step of its training on.

What a layout says (layout.py) are means over the whole picture and over columns of patches. Attention can form them, but finds out late that it should. Here the
first noise refiner's begins as just these: its first head attends to all patches alike, its second to those of the same column, and what they bring is written
where the embedding of patches writes nothing.
"""

import math

import torch

from layout import NUMBER_VALUES, PROFILE_VALUES
from model import AXES, HEAD

GATE = 0.5


@torch.no_grad()
def pool_noise(dit):
    """Sets the attention of the first noise refiner; its feed-forward stays."""
    embedder, block, width = dit.x_embedder, dit.noise_refiner[0], dit.shape.width
    weight = embedder.weight
    whole, values, _ = torch.linalg.svd(weight, full_matrices=True)
    free = whole[:, len(values) :]  # directions that the embedding leaves empty
    one = free[:, 0]  # of which one gets a constant
    size = weight.norm()
    constant = 0.7 * size
    embedder.bias += one * (constant - one @ embedder.bias)

    block.attention_norm1.weight.fill_(1)
    for norm in (block.attention.q_norm, block.attention.k_norm):
        norm.weight.fill_(1.3)
    modulation = block.adaLN_modulation[0]
    for part, bias in ((0, 0.0), (1, math.atanh(GATE))):  # scale and gate of the attention, at every noise level
        modulation.weight[part * width : (part + 1) * width].zero_()
        modulation.bias[part * width : (part + 1) * width].fill_(bias)

    query, key, value = block.attention.qkv.weight.zero_().view(3, width // HEAD, HEAD, width)
    for side in (query, key):
        side[0, 0 : AXES[0] : 2] = one  # turned by the text's position alone, which all patches share
        side[1, AXES[0] + AXES[1] : AXES[0] + AXES[1] + 6 : 2] = one  # turned by the three quickest angles of the column
    reading = torch.linalg.pinv(weight)
    out = block.attention.out.weight.zero_().view(width, width // HEAD, HEAD)
    place = 1
    for head, wanted, unit in ((0, NUMBER_VALUES, 16.0), (1, PROFILE_VALUES, 4.0)):  # of means over 256 patches and over columns of 16
        count = wanted.stop - wanted.start
        value[head, :count] = reading[wanted]
        out[:, head, :count] = free[:, place : place + count] * unit
        place += count
    # Beside a constant of twice their size, the norm that follows hardly changes with what they are.
    value[0, HEAD - 1] = one
    out[:, 0, HEAD - 1] = free[:, place] * (2 * math.sqrt(place - 1) / constant)
    brought = math.sqrt(width / (5 * (place - 1)))  # deviation of each after the norm
    block.attention_norm2.weight.fill_(size / math.sqrt(weight.shape[1]) / (brought * GATE))
