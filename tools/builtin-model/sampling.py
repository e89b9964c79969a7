"""The engine's way from noise to picture, in PyTorch: its "simple" schedule and Euler's method on a rectified flow. And noise for training, which holds layouts."""

import numpy as np
import torch

import tokens
from layout import FIELD_VALUES, FIELDS, NUMBERS, PROFILE_DIRECTIONS, PROFILES, SPHERE, SPHERE_DIRECTIONS, VALUES
from model import unpatched

SHIFT = 3.0  # the engine's own for this family
FARTHEST = 0.95  # of the square of the sphere's radius: numbers whose squares together are more are brought nearer


def sigmas(steps: int, shift: float = SHIFT) -> list[float]:
    """The noise levels of the schedule "simple": evenly spaced thousandths from the noisiest, shifted, then 0."""
    levels = []
    for step in range(steps):
        level = (1000 - int(step * 1000 / steps)) / 1000
        levels.append(shift * level / (1 + (shift - 1) * level))
    return [*levels, 0.0]


def noise_of(layouts: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    """Normal noise [batch, 16, 2 rows, 2 columns] that holds these layouts (Layout.flat) [batch, values]: see layout.py."""
    batch = len(layouts)
    numbers, profiles, fields = layouts.split((len(NUMBERS), len(PROFILES) * columns, len(FIELDS) * rows * columns), 1)
    tokens = with_numbers(torch.randn(batch, rows, columns, VALUES, device=layouts.device), numbers)
    lines = torch.from_numpy(PROFILE_DIRECTIONS).to(layouts)
    tokens += ((profiles.view(batch, -1, columns).mT / rows**0.5 - tokens.mean(1) @ lines.T) @ lines)[:, None]
    tokens[..., FIELD_VALUES] = fields.view(batch, -1, rows, columns).permute(0, 2, 3, 1)
    return unpatched(tokens.flatten(1, 2), rows, columns)


def with_numbers(tokens: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """Patches [batch, rows, columns, VALUES] like `tokens`, with other numbers [batch, NUMBERS]: their point on the sphere moves, and the means keep their length."""
    directions = torch.from_numpy(SPHERE_DIRECTIONS).to(tokens)
    means = tokens.mean((1, 2)) @ directions.T
    numbers = numbers * torch.clamp(FARTHEST * SPHERE / numbers.pow(2).sum(1, keepdim=True), max=1).sqrt()
    others = means[:, len(NUMBERS) :]
    others = others * ((SPHERE - numbers.pow(2).sum(1, keepdim=True)) / others.pow(2).sum(1, keepdim=True)).sqrt()
    point = torch.cat([numbers, others], 1) * means.norm(dim=1, keepdim=True) / SPHERE**0.5
    return tokens + ((point - means) @ directions)[:, None, None]


def engine_noise(seed: int, shape) -> torch.Tensor:
    """The engine's first noise for a seed: Philox 4x32-10 counters turned normal by Box and Muller.

    Source: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011); the counter holds the element's index in its third word, the key
    is the seed, and the first two words of the result make one number, as CUDA's generator does for each thread.
    """
    count = int(np.prod(shape))
    words = [np.zeros(count, np.uint64) for _ in range(4)]
    words[2] = np.arange(count, dtype=np.uint64)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    keys = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    for _ in range(10):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [(second >> half) ^ words[1] ^ keys[0], second & low, (first >> half) ^ words[3] ^ keys[1], first & low]
        keys = [(keys[0] + np.uint64(0x9E3779B9)) & low, (keys[1] + np.uint64(0xBB67AE85)) & low]
    radius = np.sqrt(-2 * np.log((words[0].astype(np.float64) + 0.5) / 2**32))
    angle = 2 * np.pi * (words[1].astype(np.float64) + 0.5) / 2**32
    return torch.from_numpy((radius * np.sin(angle)).astype(np.float32)).reshape(*shape)


def token_batch(several: list[list[int]], device=None):
    """Token ids of prompts, padded to one length as the DiT pads them [batch, padded], and how many each has [batch]."""
    padding = tokens.padded(max(map(len, several)))
    return torch.tensor([ids + [0] * (padding - len(ids)) for ids in several], device=device), torch.tensor(list(map(len, several)), device=device)


def encode(model, prompts: list[str]):
    """Encoder states [batch, padded, width] and token counts [batch] of prompts that are padded to one length."""
    ids, lengths = token_batch([tokens.tokens(prompt) for prompt in prompts], model["text"].rows.device)
    return model["text"](ids), lengths


@torch.inference_mode()
def sample(model, prompts: list[str], x: torch.Tensor, steps: int = 12, guidance: float = 3.0, shift: float = SHIFT, first: int = 0) -> torch.Tensor:
    """Latents like noise x [batch, 16, height / 8, width / 8] for prompts of one padded length; guidance 1 evaluates the model once a step. With `first`, x is
    of that step's noise level, and the steps before it are left out."""
    text, lengths = encode(model, prompts)
    assert tokens.padded(int(lengths.min())) == text.shape[1], "prompts of one batch must pad to one length, as the engine takes them one by one"
    blank, blank_lengths = encode(model, [""] * len(prompts))
    levels = sigmas(steps, shift)[first:]
    for now, following in zip(levels, levels[1:]):
        time = torch.full((len(prompts),), 1000 * (1 - now), device=x.device)
        velocity = model["dit"](x, time, text, lengths).float()
        if guidance != 1:
            without = model["dit"](x, time, blank, blank_lengths).float()
            velocity = without + guidance * (velocity - without)
        x = x + (now - following) * velocity
    return x
