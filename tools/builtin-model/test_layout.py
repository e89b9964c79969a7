"""Layouts are held by normal noise, decide drawings and what captions leave open."""

import dataclasses

import numpy as np
import torch

from captions import caption
from completion import SHARES, Completion, quantile, renumbered, words_of
from draw import draw
from layout import NUMBERS, Layout
from model import MULTIPLE, Shape, patches
from pooling import set_noise_refiner, steps
from sampling import noise_of
from scenes import LANDS, sample_scene
from train import build


def layouts(count: int, width: int = 256, height: int = 256) -> list[Layout]:
    rng = np.random.default_rng(11)
    return [Layout.sample(rng, width, height) for _ in range(count)]


def noise(several: list[Layout], rows: int, columns: int) -> torch.Tensor:
    return noise_of(torch.from_numpy(np.stack([layout.flat() for layout in several])), rows, columns)


def test_noise_holds_its_layout_and_is_normal():
    torch.manual_seed(3)
    for width, height in ((256, 256), (336, 192)):
        rows, columns = height // 16, width // 16
        several = layouts(40, width, height)
        made = noise(several, rows, columns)
        assert made.shape == (40, 16, height // 8, width // 8)
        for layout, picture in zip(several, patches(made).view(40, rows, columns, -1).numpy()):
            assert np.abs(Layout.of_patches(picture).flat() - layout.flat()).max() < 1e-4
            assert np.array_equal(Layout.of_flat(layout.flat(), rows, columns).fields, layout.fields)
        assert abs(float(made.mean())) < 0.01 and abs(float(made.std()) - 1) < 0.01
        # Two draws share their layouts alone.
        assert abs(float(torch.corrcoef(torch.stack([made.flatten(), noise(several, rows, columns).flatten()]))[0, 1])) < 0.15


def test_half_a_layout_is_a_layout_too():
    halves = np.stack([layout.halved().flat() for layout in layouts(300)])
    assert np.abs(halves.mean(0)).max() < 0.3 and np.abs(halves.std(0) - 1).max() < 0.25


def test_a_drawing_is_of_its_scene_and_layout_alone():
    one, other = layouts(2)
    scene = sample_scene(np.random.default_rng(5))
    first = draw(scene, 256, 256, one)
    assert np.array_equal(first, draw(dataclasses.replace(scene, seed=scene.seed + 1), 256, 256, one))
    assert not np.array_equal(first, draw(scene, 256, 256, other))


def test_a_number_that_is_read_a_little_wrong_stands_for_the_same_land():
    layout = layouts(1)[0]
    forms = [NUMBERS.index(f"form {place}") for place in range(3)]
    moved = dataclasses.replace(layout, numbers=layout.numbers.copy())
    layout.numbers[forms], moved.numbers[forms] = 0.0, 0.2
    other = dataclasses.replace(layout, numbers=layout.numbers.copy())
    other.numbers[forms] = 1.5
    rng = np.random.default_rng(8)
    scenes = {scene.land: scene for scene in (sample_scene(rng) for _ in range(200))}
    assert len(scenes) == len(LANDS)
    for scene in scenes.values():
        same, different = (np.array_equal(draw(scene, 256, 256, layout), draw(scene, 256, 256, it)) for it in (moved, other))
        assert same and different == (scene.land == "open sea")


def test_a_number_stands_for_the_same_value_whatever_else_a_caption_says():
    completion = Completion.learn(2_000)
    every = np.arange(len(SHARES["land"]))
    for number in np.linspace(0, 1, 45):
        usual = completion.value_of("land", every, number)
        for left in range(1, len(every)):
            some = every[::left]
            assert completion.value_of("land", some, number) in some
            assert usual not in some or completion.value_of("land", some, number) == usual
    # A value of no share is there only where nothing else is left.
    moods = [completion.values["mood"].index(value) for value in ("stormy", "misty")]
    assert {completion.value_of("mood", np.array(sorted(moods)), number) for number in np.linspace(0, 1, 20)} == {moods[1]}
    assert completion.value_of("mood", np.array(moods[:1]), 0.3) == moods[0]


def test_other_numbers_stand_for_the_same_drawing():
    completion = Completion.learn(2_000)
    several = layouts(400)
    numbers = renumbered(numbers_of(several), np.random.default_rng(9))
    assert np.abs(numbers.mean(0)).max() < 0.2 and np.abs(numbers.std(0) - 1).max() < 0.15
    assert (numbers != numbers_of(several)).mean() > 0.75
    for text, layout, other in zip(["", "mountains", "a lake at sunset", "a lighthouse"] * 3, several, numbers):
        other = dataclasses.replace(layout, numbers=other)
        scene = completion.scene(text, layout)
        assert scene == completion.scene(text, other)
        assert np.array_equal(draw(scene, 256, 256, layout), draw(scene, 256, 256, other))


def test_words_that_mean_something_else_together_are_taken_together():
    assert {"purple-and-orange", "in-the-dark"} <= set(words_of("A purple and orange sky, hills in the dark"))
    assert "blue-sky" in words_of("mountains, a clear blue sky") and "blue-sky-above" in words_of("mountains under a blue sky")


def test_a_scene_shows_what_its_caption_says():
    completion = Completion.learn(20_000)
    rng = np.random.default_rng(6)
    said = kept = 0
    for layout in layouts(200):
        scene = sample_scene(rng)
        text = caption(scene, rng)
        for word, holds in (("mountain", lambda it: it.land == "mountains"), ("desert", lambda it: it.land == "desert"), ("night", lambda it: it.time == "night"),
                            ("red", lambda it: it.colour == "red"), ("boat", lambda it: it.foreground == "boat"), ("moon", lambda it: it.moon)):  # fmt: skip
            if word in words_of(text):
                said += 1
                kept += holds(completion.scene(text, layout))
    assert said > 60 and kept >= 0.97 * said
    # What is left open differs from layout to layout.
    assert len({completion.scene("mountains", layout).time for layout in layouts(60)}) >= 4


def numbers_of(several: list[Layout]) -> np.ndarray:
    return np.stack([layout.numbers for layout in several])


def fitted(states: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Weights of a linear fit of numbers to states, the constant's last."""
    held = np.c_[states, np.ones(len(states))]
    return np.linalg.solve(held.T @ held + 2 * np.eye(held.shape[1]), held.T @ numbers)


def misses(weights: np.ndarray, states: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Root mean squares of what a fit misses of each number."""
    return np.sqrt(((np.c_[states, np.ones(len(states))] @ weights - numbers) ** 2).mean(0))


def test_noise_refiner_reads_layouts_before_any_training():
    torch.manual_seed(0)
    dit = build(Shape(layers=1), torch.tensor([1]))["dit"]
    several, other_sizes = layouts(1200), {(512, 512): layouts(60, 512, 512), (128, 128): layouts(200, 128, 128), (336, 192): layouts(200, 336, 192)}
    numbers = numbers_of(several)

    @torch.inference_mode()
    def states(several: list[Layout], width: int = 256, height: int = 256) -> np.ndarray:
        found, rows, columns = [], height // 16, width // 16
        for start in range(0, len(several), 20):
            x = dit.x_embedder(patches(noise(several[start : start + 20], rows, columns)))
            x = torch.cat([x, dit.x_pad_token.expand(len(x), -(rows * columns) % MULTIPLE, -1)], 1)
            cos, sin = dit.turns(0, rows, columns, x)
            found.append(dit.noise_refiner[0](x, cos, sin, dit.t_embedder(torch.zeros(len(x))))[:, 40])
        return torch.cat(found).numpy()

    assert misses(fitted(states(several[:900]), numbers[:900]), states(several[900:]), numbers[900:]).max() > 0.9
    set_noise_refiner(dit)
    read = states(several)
    weights = fitted(read[:900], numbers[:900])
    assert misses(weights, read[900:], numbers[900:]).max() < 0.05
    # They are as long in pictures of every size.
    for (width, height), those in other_sizes.items():
        assert misses(weights, states(those, width, height), numbers_of(those)).max() < 0.06
    # Along a direction of its own a patch has one amount on the one side of each step and another on the other.
    for (place, below), direction in zip(steps(), dit.noise_refiner[0].feed_forward.w2.weight.detach().numpy().T[::2]):
        away = numbers[:, place] - quantile(below)
        amounts = read @ direction / np.linalg.norm(direction)
        assert amounts[away > 0.2].min() > amounts[away < -0.2].max() + 3
