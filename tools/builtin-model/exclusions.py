"""Words that say what a picture does not show: 'mountains at sunset, without the sun, without a lake'.

Noise decides what a caption leaves open (layout.py), so guidance away from other words changes little: they get the same from the same noise. The program
therefore adds the words to leave out to the prompt, each behind WITHOUT, and training has such captions.
"""

import dataclasses
import functools
import re

from scenes import Scene

WITHOUT = "without"
_EXCLUSION = re.compile(r"[\s,;.]*\b(?:without|no)\s+([^,;.]+)", re.IGNORECASE)


def name_alone(name: str) -> str:
    """A thing's name without its article."""
    return re.sub(r"^(the|a|an|any) ", "", name)


@dataclasses.dataclass(frozen=True)
class Thing:
    """Something that can be left out: how one names it, and the values of a scene's attributes that show it."""

    names: tuple[str, ...]
    shown_by: dict[str, tuple]

    @functools.cached_property
    def pattern(self) -> re.Pattern:
        """Its names without articles, one or several of it."""
        names = sorted({name_alone(name) for name in self.names}, key=len, reverse=True)
        return re.compile(rf"\b({'|'.join(names)})(e?s)?\b", re.IGNORECASE)

    def is_in(self, scene: Scene) -> bool:
        return any(getattr(scene, attribute) in values for attribute, values in self.shown_by.items())


THINGS = {
    "sun": Thing(("the sun", "the sun", "sun", "a sun", "sunshine", "sunlight", "a low sun"), {"sun": (True,)}),
    "moon": Thing(("the moon", "the moon", "moon", "a moon", "moonlight"), {"moon": (True,)}),
    "stars": Thing(("stars", "stars", "the stars", "a starry sky"), {"stars": (True,)}),
    "aurora": Thing(("northern lights", "aurora"), {"aurora": (True,)}),
    "clouds": Thing(("clouds", "clouds", "a cloud", "a cloudy sky", "overcast"), {"mood": ("cloudy", "stormy"), "wisps": (True,)}),
    "mist": Thing(("mist", "fog", "haze"), {"mood": ("misty",)}),
    "storm": Thing(("a storm", "thunder"), {"mood": ("stormy",)}),
    "rain": Thing(("rain",), {"rain": (True,)}),
    "rainbow": Thing(("a rainbow", "rainbow"), {"rainbow": (True,)}),
    "snow": Thing(("snow", "snow", "the snow", "winter"), {"snow": (True,), "season": ("winter",)}),
    "water": Thing(("water", "any water"), {"water": ("lake", "sea")}),
    "lake": Thing(("a lake", "a lake", "lake", "the lake", "a river"), {"water": ("lake",)}),
    "sea": Thing(("the sea", "sea", "the ocean"), {"water": ("sea",)}),
    "trees": Thing(("trees", "trees", "any trees", "a tree", "a forest"), {"vegetation": ("pines", "trees"), "land": ("forest",), "foreground": ("lone tree",)}),
    "pines": Thing(("pines", "conifers"), {"vegetation": ("pines",)}),
    "flowers": Thing(("flowers", "flowers", "any flowers", "wildflowers"), {"vegetation": ("flowers",)}),
    "mountains": Thing(("mountains", "a mountain", "peaks"), {"land": ("mountains",)}),
    "hills": Thing(("hills", "a hill"), {"land": ("hills",)}),
    "desert": Thing(("a desert", "sand"), {"land": ("desert",)}),
    "city": Thing(("a city", "buildings", "towers"), {"land": ("city",)}),
    "cabin": Thing(("a cabin", "a house", "houses", "a hut"), {"foreground": ("cabin",), "land": ("city",)}),
    "boat": Thing(("a boat", "boats", "a ship", "a sailing boat"), {"foreground": ("boat",)}),
    "birds": Thing(("birds", "any birds", "a bird"), {"foreground": ("birds",)}),
    "night": Thing(("night", "darkness"), {"time": ("night",)}),
    # What people leave out everywhere, and no drawing has.
    "nothing": Thing(("people", "text", "a watermark", "blur", "blurry", "low quality", "noise", "frames"), {}),
}


def separated(text: str) -> tuple[str, list[Thing]]:
    """A text without what it says is not there, and that."""
    named = " ".join(_EXCLUSION.findall(text))
    things = [thing for thing in THINGS.values() if thing.pattern.search(named)]
    return (_EXCLUSION.sub("", text) if named else text), things


def exclusion(thing: Thing, rng) -> str:
    """Words that say the thing is not there."""
    name = thing.names[int(rng.integers(len(thing.names)))]
    return f"{WITHOUT} {name}" if rng.random() < 0.9 else f"no {name_alone(name)}"
