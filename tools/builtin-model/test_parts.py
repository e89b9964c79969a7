"""What parts.py says of a drawing is what stands in it."""

import dataclasses

import numpy as np

from draw import compose, draw
from parts import NAMES, LabelledDrawing, coverage
from prompts import prompt
from scenes import sample_scene, sample_wide_scene


def shown(scene) -> set:
    canvas = LabelledDrawing(scene, 256, 256)
    assert np.array_equal(compose(canvas), draw(scene, 256, 256))
    found = coverage(canvas.parts)
    assert found.shape == (16, 16, len(NAMES)) and abs(found.sum(-1, dtype=int) - 255).max() <= 4
    return {NAMES[part] for part in np.unique(canvas.parts)}


def test_a_thing_is_named_where_it_is_drawn_and_nowhere_else():
    rng = np.random.default_rng(7)
    plain, wide = ([sample(rng) for _ in range(40)] for sample in (sample_scene, sample_wide_scene))
    for scene in plain + wide:
        parts = shown(scene)
        assert ("water" in parts) == (scene.water != "none") and ("ground" in parts) == (scene.water == "none")
        assert scene.subject == "none" or scene.subject in parts
        assert scene.foreground not in ("boat", "cabin") or f"front_{scene.foreground}" in parts
        assert "disc" not in parts or scene.sun or scene.moon
    boats = [scene for scene in plain if scene.foreground == "boat"]
    assert boats and all("front_boat" not in shown(dataclasses.replace(scene, foreground="none")) for scene in boats)


def test_prompts_name_only_what_is_there():
    for index in range(2000):
        rng = np.random.default_rng((8, index))
        scene = sample_scene(rng)
        text = prompt(scene, rng)
        assert 0 < len(text.split()) <= 25
        for word, there in (("moon", scene.moon), ("stars", scene.stars), ("aurora", scene.aurora), ("northern", scene.aurora), ("boat", scene.foreground == "boat"),
                            ("lake", scene.water == "lake"), ("frozen", scene.season == "winter"), (" sun", scene.sun)):  # fmt: skip
            assert word not in f" {text}".replace("sunset", "").replace("sundown", "").replace("sunrise", "") or there, text
