"""Measures whether the attributes that captions ask for are in the model's pictures.

    python evaluate.py AUTOENCODER.pt DIT.pt [--count 200] [--steps 8] [--guidance 1] [--side 256] [--table OUT.md] [--sheet OUT.png]
                       [--keep OUT.npz] [--quick] [--wide FEATURES.safetensors] [--exclusions COMPLETION.npz]

Held-out captions (seeds that training never drew), one picture each. An attribute counts where the caption names it; it is judged by measure.py. The
same captions' own drawings are the ceiling, a model that was not trained is the floor; `--quick` leaves both out and samples in BF16. `--keep` keeps the
model's pictures for distance.py. `--exclusions` then takes captions whose pictures show something that they do not name, and says that it is not there:
how many pictures show it with and without these words. `--wide` at last does the same with captions of wide scenes: what those alone have is judged by the network of features.py.
"""

import argparse
import collections
import pathlib
import re

import numpy as np
import torch
from PIL import Image

import tokens
from captions import caption
from completion import Completion
from draw import draw
from exclusions import THINGS, WITHOUT
from features import Features, wide_things
from measure import ATTRIBUTES, measure, truth
from layout import Layout
from model import Autoencoder, patches
from sampling import sample
from scenes import sample_scene, sample_wide_scene
from train import build, load, precision

HELD_OUT = 90  # no aspect of dataset.py uses this seed
WIDE_HELD_OUT = 91
EXCLUSION_HELD_OUT = 92
# Things that can be left out and that measure.py sees.
EXCLUDED = {"sun": ("light", "sun or moon"), "moon": ("light", "sun or moon"), "lake": ("water", "lake"), "sea": ("water", "sea"), "snow": ("snow", "snow")}
BATCH = 20
NAMED = {
    ("time", "night"): r"\b(night|midnight|in the dark)\b",
    ("time", "noon/day"): r"\b(noon|midday|daytime|daylight|by day|the day|morning)\b",
    ("time", "sunset"): r"\b(sunset|sundown|evening|dusk|twilight|dawn|sunrise|daybreak|early morning)\b",
    ("water", "sea"): r"\b(sea|ocean|seascape|coast|coastal|islands)\b",
    ("water", "lake"): r"\b(lake|river|water)\b",
    ("snow", "snow"): r"\b(snow|snowy|snow-\w+|winter)\b",
    ("light", "sun or moon"): r"\b(sun|sunshine|moon|moonlight)\b",
}
COLOURS = {"golden": "golden|gold|yellow", "grey": "grey|gray", "purple": "purple|violet", "teal": "teal|turquoise"}


def asked(scene, text: str) -> dict[str, str]:
    """The attributes, with their values, that a caption of the scene names in words."""
    found = {}
    for attribute in ATTRIBUTES:
        value = truth(scene, attribute)
        words = rf"\b({COLOURS.get(value, value)})\b" if attribute == "colour" and value else NAMED.get((attribute, value))
        if value in ATTRIBUTES[attribute][0] and words and re.search(words, text.lower()):
            found[attribute] = value
    return found


def _held_out(count: int, seed: int, sample_scene_of, wanted_of):
    """Scenes with captions, and what of them is judged: something each."""
    chosen, index = [], 0
    while len(chosen) < count:
        rng = np.random.default_rng((seed, index))
        scene = sample_scene_of(rng)
        text = caption(scene, rng)
        wanted = wanted_of(scene, text)
        if wanted:
            chosen.append((scene, text, wanted))
        index += 1
    return chosen


def held_out(count: int):
    """Scenes with captions that name at least one attribute, and those attributes."""
    return _held_out(count, HELD_OUT, sample_scene, asked)


def wide_held_out(count: int):
    """Wide scenes with captions, and what only wide scenes have: their captions always name it."""
    return _held_out(count, WIDE_HELD_OUT, sample_wide_scene, lambda scene, _: wide_things(scene))


def exclusion_held_out(completion: Completion, count: int, side: int):
    """Captions, each with something that it does not name and that its drawing from the noise of its number shows."""
    chosen, index = [], 0
    while len(chosen) < count:
        rng = np.random.default_rng((EXCLUSION_HELD_OUT, index))
        text = caption(sample_scene(rng), rng)
        shown = completion.scene(text, layout_of(len(chosen), side))
        names = [name for name in EXCLUDED if THINGS[name].is_in(shown) and not THINGS[name].pattern.search(text)]
        if names:
            name = names[int(rng.integers(len(names)))]
            longer = f"{text}, {WITHOUT} {THINGS[name].names[0]}"
            if not THINGS[name].is_in(completion.scene(longer, layout_of(len(chosen), side))):
                chosen.append((name, text, longer))
        index += 1
    return chosen


def exclusion_table(completion: Completion, chosen, side: int, pictures_of) -> list[str]:
    """Lines of Markdown: in how many pictures a thing is, and in how many where words say that it is not there. `pictures_of` makes pictures of texts."""
    columns = []
    for place in (1, 2):
        texts = [several[place] for several in chosen]
        for made in (pictures_of(texts), [drawing(completion, text, n, side) for n, text in enumerate(texts)]):
            shown = collections.Counter()
            for picture, (name, _, _) in zip(made, chosen):
                attribute, value = EXCLUDED[name]
                shown[name] += bool(ATTRIBUTES[attribute][1](measure(picture), value))
            columns.append(shown)
    counts = collections.Counter(name for name, _, _ in chosen)
    lines = ["| not named | captions | model | drawings | model, left out | drawings, left out |", "|---|---|---|---|---|---|"]
    lines += [f"| {name} | {counts[name]} | " + " | ".join(str(shown[name]) for shown in columns) + " |" for name in sorted(counts)]
    return [*lines, f"| **all** | {len(chosen)} | " + " | ".join(f"**{sum(shown.values())}**" for shown in columns) + " |"]


def start_noise(number: int, side: int, seed: int = 0) -> torch.Tensor:
    """The noise [16, side / 8, side / 8] from which the picture of this number begins."""
    return torch.randn(16, side // 8, side // 8, generator=torch.Generator().manual_seed(seed + number))


def layout_of(number: int, side: int) -> Layout:
    """The layout that the noise of a picture's number holds."""
    rows = side // 16
    return Layout.of_patches(patches(start_noise(number, side)[None]).view(rows, rows, -1).numpy())


def drawing(completion, text: str, number: int, side: int) -> np.ndarray:
    """What a caption and the noise of a picture's number stand for, drawn: what the model is to make of them."""
    layout = layout_of(number, side)
    return draw(completion.scene(text, layout), side, side, layout)


def latents_of(model, texts, side: int, steps: int, guidance: float, seed: int = 0, kind=torch.float32):
    """Numbers of some texts and their latents, batch by batch until all have theirs: those of one batch pad to one length."""
    device = next(model.parameters()).device
    by_padding = collections.defaultdict(list)
    for n, text in enumerate(texts):
        by_padding[tokens.padded(len(tokens.tokens(text)))].append(n)
    for group in by_padding.values():
        for start in range(0, len(group), BATCH):
            chosen = group[start : start + BATCH]
            noise = torch.stack([start_noise(n, side, seed) for n in chosen])
            with torch.autocast(device.type, kind, enabled=kind != torch.float32):
                latents = sample(model, [texts[n] for n in chosen], noise.to(device), steps, guidance).float()
            yield chosen, latents


@torch.inference_mode()
def decoded(autoencoder, latents) -> np.ndarray:
    """The pictures of latents as bytes [batch, height, width, 3]."""
    return autoencoder.decode(latents).clamp(0, 1).mul(255).round().byte().permute(0, 2, 3, 1).cpu().numpy()


def pictures(model, autoencoder, texts, *way, **named):
    """One picture [side, side, 3] of bytes for each text, in their order; `way` is as of `latents_of`. Both modules lie on one device."""
    made = [None] * len(texts)
    for chosen, latents in latents_of(model, texts, *way, **named):
        for n, picture in zip(chosen, decoded(autoencoder, latents)):
            made[n] = picture
    return made


def score(made, chosen):
    """Hits and counts by (attribute, value)."""
    hits, counts = collections.Counter(), collections.Counter()
    for picture, (_, _, wanted) in zip(made, chosen):
        statistics = measure(picture)
        for attribute, value in wanted.items():
            counts[attribute, value] += 1
            hits[attribute, value] += bool(ATTRIBUTES[attribute][1](statistics, value))
    return hits, counts


def wide_score(made, chosen, network: Features):
    """Hits and counts by (attribute, value) of what only wide scenes have."""
    hits, counts = collections.Counter(), collections.Counter()
    shown = network.values(np.stack(made))
    for n, (_, _, wanted) in enumerate(chosen):
        for name, value in wanted.items():
            key = (name, value) if isinstance(value, str) else ("weather", name)
            counts[key] += 1
            hits[key] += shown[name][n] == value
    return hits, counts


def table(results: dict) -> list[str]:
    """Lines of Markdown: a row for each attribute, a column for each of the results, which are hits and counts."""
    _, counts = next(iter(results.values()))
    lines = ["| attribute | asked | " + " | ".join(results) + " |", "|---|---|" + "---|" * len(results)]
    for key in sorted(counts):
        parts = [f"{100 * hits[key] / counts[key]:.0f} %" for hits, _ in results.values()]
        lines.append(f"| {key[0]}: {key[1]} | {counts[key]} | " + " | ".join(parts) + " |")
    whole = [f"**{100 * sum(hits.values()) / sum(counts.values()):.1f} %**" for hits, _ in results.values()]
    lines.append(f"| **all** | {sum(counts.values())} | " + " | ".join(whole) + " |")
    return lines


def sheet(path: pathlib.Path, made: list, texts: list[str]):
    """Writes the first pictures, eight in a row, and prints their captions."""
    rows = [np.concatenate(made[n : n + 8], axis=1) for n in range(0, min(len(made), 48) // 8 * 8, 8)]
    Image.fromarray(np.concatenate(rows)).save(path)
    for n, text in enumerate(texts[: 8 * len(rows)]):
        print(n, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("autoencoder", type=pathlib.Path)
    parser.add_argument("dit", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--guidance", type=float, default=1.0)
    parser.add_argument("--side", type=int, default=256)
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--sheet", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--wide", type=pathlib.Path)
    parser.add_argument("--exclusions", type=pathlib.Path)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()

    autoencoder = Autoencoder.load(arguments.autoencoder).eval().to(arguments.device)
    model, shape = load(arguments.dit)
    model.eval().to(arguments.device)
    chosen = held_out(arguments.count)
    texts = [text for _, text, _ in chosen]
    way = (arguments.side, arguments.steps, arguments.guidance)
    kind = precision(arguments.device) if arguments.quick else torch.float32
    made = pictures(model, autoencoder, texts, *way, kind=kind)
    if arguments.keep:
        np.savez_compressed(arguments.keep, pictures=np.stack(made), texts=texts)
    if arguments.sheet:
        sheet(arguments.sheet, made, texts)
    results = {"model": score(made, chosen)}
    if not arguments.quick:
        torch.manual_seed(0)
        untrained = build(shape, model["text"].used.cpu()).eval().to(arguments.device)
        results["drawings (ceiling)"] = score([draw(scene, arguments.side, arguments.side) for scene, _, _ in chosen], chosen)
        results["untrained (floor)"] = score(pictures(untrained, autoencoder, texts, *way), chosen)
    lines = table(results)
    if arguments.exclusions:
        completion = Completion.load(arguments.exclusions)
        chosen = exclusion_held_out(completion, arguments.count, arguments.side)
        lines += ["", *exclusion_table(completion, chosen, arguments.side, lambda texts: pictures(model, autoencoder, texts, *way, kind=kind))]
    if arguments.wide:
        network = Features.load(arguments.wide).eval()
        chosen = wide_held_out(arguments.count)
        texts = [text for _, text, _ in chosen]
        made = pictures(model, autoencoder, texts, *way, kind=kind)
        if arguments.sheet:
            sheet(arguments.sheet.with_stem(arguments.sheet.stem + "-wide"), made, texts)
        drawings = [draw(scene, arguments.side, arguments.side) for scene, _, _ in chosen]
        lines += ["", *table({"model": wide_score(made, chosen, network), "drawings (ceiling)": wide_score(drawings, chosen, network)})]
    print("\n".join(lines))
    if arguments.table:
        arguments.table.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
