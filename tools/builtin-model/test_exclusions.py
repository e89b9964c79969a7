"""Words that say what is not there are told from the others, and what they name is in no drawing."""

import numpy as np
import pytest

import shards
from captions import caption
from completion import Completion
from exclusions import THINGS, WITHOUT, exclusion, separated
from layout import Layout
from scenes import sample_scene

COUNT = 60


@pytest.fixture(scope="module")
def completion() -> Completion:
    return Completion.learn(20_000)


def named(text: str) -> tuple[str, list[str]]:
    rest, things = separated(text)
    return rest, [name for name, thing in THINGS.items() if thing in things]


def test_exclusions_are_separated_from_what_is_there():
    assert named("mountains at sunset, without the sun, without a lake") == ("mountains at sunset", ["sun", "lake"])
    assert named("Without boats") == ("", ["boat"])
    assert named("a sea. No clouds, a boat") == ("a sea, a boat", ["clouds"])
    assert named("the sun sets over a lake") == ("the sun sets over a lake", [])
    assert named("a meadow without people") == ("a meadow", ["nothing"])
    assert named("hills without sunset clouds") == ("hills", ["clouds"]), "a sunset is no sun"


def test_what_is_left_out_is_in_no_scene(completion):
    rng, shown, left_out = np.random.default_rng(4), 0, 0
    for _ in range(COUNT):
        text, layout = caption(sample_scene(rng), rng), Layout.sample(rng, 256, 256)
        scene = completion.scene(text, layout)
        for thing in THINGS.values():
            if thing.is_in(scene) and not thing.pattern.search(text):
                shown += 1
                left_out += not thing.is_in(completion.scene(f"{text}, {exclusion(thing, rng)}", layout))
    # The rest is what the caption asks for in other words: a shore without the sea.
    assert shown > 2 * COUNT and left_out > 0.6 * shown, (shown, left_out)


def test_what_is_left_out_and_was_not_there_changes_nothing(completion):
    rng = np.random.default_rng(5)
    for _ in range(COUNT):
        text, layout = caption(sample_scene(rng), rng), Layout.sample(rng, 256, 256)
        scene = completion.scene(text, layout)
        absent = [thing for thing in THINGS.values() if not thing.is_in(scene)]
        several = [absent[n] for n in rng.integers(0, len(absent), 2)]
        assert completion.scene(text + "".join(f", {exclusion(thing, rng)}" for thing in several), layout) == scene


def test_captions_of_training_leave_out_what_they_say(completion, monkeypatch):
    monkeypatch.setattr(shards, "_completion", completion)
    rng, found = np.random.default_rng(6), 0
    for _ in range(COUNT):
        text, layout = caption(sample_scene(rng), rng), Layout.sample(rng, 256, 256)
        ending = shards.excluding(text, completion.scene(text, layout), layout, rng)
        scene = completion.scene(text + ending, layout)
        things = separated(text + ending)[1]
        found += len(things)
        assert not any(thing.is_in(scene) for thing in things), (text, ending)
    assert found > COUNT and WITHOUT in exclusion(THINGS["sun"], np.random.default_rng(0))
