"""The one scene that a caption and a layout stand for: what the caption leaves open, the layout decides.

    python completion.py OUT.npz

Which scenes a word allows is learnt from captions of many scenes: a value that never stands beside a word, although by chance it would have, is excluded by it.
Colours, seasons, storms and what only wide scenes have are there only where words ask for them; sun, moon and stars wherever they may be. What is then left open is
chosen attribute by attribute, each by a number of the layout: a value has the same range of that number whatever else is said, so that it is soon learnt, and a range whose
value the words exclude goes to the value after it.
"""

import ast
import dataclasses
import pathlib
import re
import sys

import numpy as np

from captions import caption
from exclusions import THINGS, Thing, separated
from layout import COUNTS, NUMBERS, Layout, ndtr
from prompts import prompt
from scenes import Scene, sample_scene, sample_wide_scene

SEED = 40  # shards.py and evaluate.py (held out) use others
SCENES = 150_000  # half of them wide
TEXTS = 3  # of each
EXPECTED = 12  # times that a value would stand beside a word by chance, so that its absence means something
# In the order in which they are chosen.
CHOICES = ("land", "time", "water", "mood", "colour", "vegetation", "season", "snow", "sun", "moon", "stars", "aurora", "foreground", "subject", "style", "rain", "rainbow", "colours")
EXCLUDING = (*CHOICES, "time and colour")
ASKED_FOR = {"colour": None, "subject": "none", "style": "none", "rain": False, "rainbow": False, "colours": None, "aurora": False, "season": None}
# How often a value is chosen where words leave all of them, in the order of their ranges; those of no share only where nothing else is left. What is not named here
# is always there where it may be.
SHARES = {
    "land": {"open sea": 2, "mountains": 5, "cliffs": 2, "meadow": 2, "hills": 3, "islands": 2, "desert": 2, "forest": 2, "city": 2},
    "time": {"noon": 5, "dusk": 2, "sunset": 5, "night": 4, "morning": 2, "dawn": 2},
    "water": {"none": 2, "sea": 3, "lake": 3},
    "mood": {"clear": 10, "cloudy": 6, "misty": 3, "stormy": 0},
    "vegetation": {"pines": 4, "flowers": 2, "trees": 3, "none": 0},
    "foreground": {"birds": 2, "boat": 3, "cabin": 3, "lone tree": 3, "none": 6},
}  # fmt: skip


_COLOUR = "red|orange|golden|gold|yellow|pink|purple|violet|blue|teal|turquoise|green"
# Words that mean something else together than alone: two colours of a sky, and colours of things in a picture that is not of that colour.
PHRASES = (
    (re.compile(rf"\b({_COLOUR}) and ({_COLOUR})\b"), r"\1-and-\2"),
    (re.compile(r"\bblack and white\b"), "black-and-white"),
    (re.compile(r"\bblue sky (over|above)\b"), r"blue-sky-above \1"),
    (re.compile(r"\b(under|beneath) a blue sky\b"), r"\1 blue-sky-above"),
    (re.compile(r"\b(blue|clear blue|bright blue) sky\b"), "blue-sky"),
    (re.compile(r"\bgreen (trees|hill|valley|aurora)\b"), r"green-\1"),
    (re.compile(r"\bspring green\b"), "spring-green"),
    (re.compile(r"\bred roof\b"), "red-roof"),
    (re.compile(r"\bin the dark\b"), "in-the-dark"),
    (re.compile(r"\bearly morning\b"), "early-morning"),
    (re.compile(r"\bmorning mist\b"), "morning-mist"),
)


def words_of(text: str) -> list[str]:
    """Words and pairs of neighbouring ones, each once, in their order."""
    text = text.lower()
    for pattern, together in PHRASES:
        text = pattern.sub(together, text)
    words = re.findall(r"[a-z-]+", text)
    pairs = [f"{one} {two}" for one, two in zip(words, [*words[1:], ""])]
    return list(dict.fromkeys(text for both in zip(words, pairs) for text in both))


def texts_of(scene: Scene, rng, count: int) -> list[str]:
    """Captions of a scene, half of them as a person types, where it has nothing that only wide scenes have."""
    wide = any(getattr(scene, name) != ASKED_FOR[name] for name in ("subject", "style", "rain", "rainbow", "colours"))
    texts = [(caption if wide or n % 2 == 0 else prompt)(scene, rng) for n in range(count)]
    # Prompts say this of uncoloured scenes too, captions of blue ones only.
    return [text for text in texts if scene.colour or not re.search(r"(under|beneath) a blue sky|blue sky (over|above)", text.lower())]


# Where numbers of a layout begin to stand for something else; those of trees are of Drawing.plants. Light, reach and wisps take every value.
CUTS = {name: np.cumsum(list(shares.values()))[:-1] / sum(shares.values()) for name, shares in SHARES.items()}
CUTS |= {name: np.arange(1, count) / count for name, count in COUNTS.items()} | {"trees": (0.3, 0.7)}
_NORMAL = np.sort(np.random.default_rng(0).standard_normal(200_000).astype(np.float32))
_EVEN = ndtr(_NORMAL)


def quantile(share: float) -> float:
    """The number below which so large a share of numbers lies."""
    return float(np.interp(share, _EVEN, _NORMAL))


def renumbered(numbers: np.ndarray, rng) -> np.ndarray:
    """Other numbers [count, NUMBERS] that stand for the same drawings: each anew within its range, as normal values are."""
    numbers = numbers.copy()
    for name, cuts in CUTS.items():
        column = numbers[:, NUMBERS.index(name)]
        limits = np.searchsorted(_EVEN, (0, *cuts, 2))
        place = np.searchsorted(cuts, ndtr(column.astype(np.float32)), side="right")
        column[:] = _NORMAL[(limits[place] + rng.random(len(column)) * (limits[place + 1] - limits[place])).astype(int)]
    return numbers


class Completion:
    """`scenes`: all combinations of attributes that were seen; `excluded`: which values of an attribute a word of the vocabulary rules out."""

    def __init__(self, scenes: list[Scene], vocabulary: list[str], excluded: dict[str, np.ndarray]):
        self.scenes = scenes
        self.values, self.numbers = {}, {}
        for name in CHOICES:
            held = [getattr(scene, name) for scene in scenes]
            self.values[name] = [value for value in SHARES[name] if value in held] if name in SHARES else sorted(set(held), key=str)
            places = {value: n for n, value in enumerate(self.values[name])}
            self.numbers[name] = np.array([places[value] for value in held])
        # A blue sky is that of a clear day, or a blue one at another time: neither word nor time alone tells.
        self.numbers["time and colour"] = self.numbers["time"] * len(self.values["colour"]) + self.numbers["colour"]
        self.values["time and colour"] = [(time, colour) for time in self.values["time"] for colour in self.values["colour"]]
        self.shares = {name: np.array([SHARES[name][value] for value in self.values[name]]) for name in SHARES}
        self.words = {word: n for n, word in enumerate(vocabulary)}
        self.excluded, self.masks = excluded, {}
        self.usual = {name: self.numbers[name] == self.values[name].index(value) for name, value in ASKED_FOR.items()}

    def _mask(self, word: str) -> np.ndarray | None:
        """Which scenes a word allows; None for all."""
        if word not in self.words:
            return None
        if word not in self.masks:
            allowed = np.ones(len(self.scenes), bool)
            for name in EXCLUDING:
                allowed &= ~self.excluded[name][self.words[word]][self.numbers[name]]
            self.masks[word] = None if allowed.all() else allowed
        return self.masks[word]

    def _showing(self, thing: Thing) -> np.ndarray:
        """Which scenes show a thing."""
        shown = np.zeros(len(self.scenes), bool)
        for name, values in thing.shown_by.items():
            if name in self.numbers:
                shown |= np.isin(self.numbers[name], [n for n, value in enumerate(self.values[name]) if value in values])
        return shown

    def scene(self, text: str, layout: Layout) -> Scene:
        """Of words that contradict each other the first ones hold, and those that say what is not there come last: what is not there anyway changes nothing."""
        text, excluded = separated(text)
        allowed = np.ones(len(self.scenes), bool)
        for word in words_of(text):
            mask = self._mask(word)
            if mask is not None and (allowed & mask).any():
                allowed &= mask
        scene = self._chosen(allowed, layout)
        if any(thing.is_in(dataclasses.replace(scene, wisps=False)) for thing in excluded):
            for thing in excluded:
                mask = ~self._showing(thing)
                if (allowed & mask).any():
                    allowed &= mask
            scene = self._chosen(allowed, layout)
        return dataclasses.replace(scene, wisps=THINGS["clouds"] not in excluded)

    def _chosen(self, allowed: np.ndarray, layout: Layout) -> Scene:
        """The scene of those that are allowed which a layout stands for."""
        for usual in self.usual.values():
            if (allowed & usual).any():
                allowed = allowed & usual
        left = np.flatnonzero(allowed)
        for name in CHOICES:
            numbers = self.numbers[name][left]
            # Of what no number chooses the last: True, or any.
            left = left[numbers == (self.value_of(name, np.unique(numbers), layout.number(name)) if name in SHARES else numbers.max())]
        return self.scenes[left[0]]

    def value_of(self, name: str, there: np.ndarray, number: float) -> int:
        """The value of an attribute of SHARES, of those that are left, that a number in 0..1 stands for."""
        shares = self.shares[name]
        ranges = shares.cumsum() / shares.sum()
        wanted = min(int(np.searchsorted(ranges, number, side="right")), len(shares) - 1)
        usual = there[shares[there] > 0] if shares[there].any() else there
        return usual[int(np.searchsorted(usual, wanted)) % len(usual)]

    @classmethod
    def learn(cls, count: int = SCENES) -> "Completion":
        """From so many scenes."""
        index, numbers, texts = {}, [], []
        for n in range(count):
            rng = np.random.default_rng((SEED, n))
            scene = (sample_scene, sample_wide_scene)[n % 2](rng)
            numbers.append(index.setdefault(dataclasses.replace(scene, seed=0), len(index)))
            texts += [(numbers[-1], text) for text in texts_of(scene, rng, TEXTS)]
        vocabulary, pairs = {}, []
        for scene, text in texts:
            pairs += [(vocabulary.setdefault(word, len(vocabulary)), scene) for word in words_of(text)]
        pairs = np.array(pairs)
        made, counts = cls(list(index), list(vocabulary), {}), np.bincount(numbers)
        times = np.bincount(pairs[:, 0], minlength=len(vocabulary))
        for name in EXCLUDING:
            size = len(made.values[name])
            seen = np.bincount(pairs[:, 0] * size + made.numbers[name][pairs[:, 1]], minlength=len(vocabulary) * size).reshape(-1, size)
            share = np.bincount(made.numbers[name], counts, size) / count
            made.excluded[name] = (seen == 0) & (times[:, None] * share >= EXPECTED)
        return made

    def save(self, path: pathlib.Path):
        scenes = np.array([repr(dataclasses.astuple(scene)) for scene in self.scenes])
        np.savez_compressed(path, scenes=scenes, words=np.array(list(self.words)), **{f"excluded {name}": table for name, table in self.excluded.items()})

    @classmethod
    def load(cls, path: pathlib.Path) -> "Completion":
        held = np.load(path)
        scenes = [Scene(*ast.literal_eval(text)) for text in held["scenes"]]
        return cls(scenes, held["words"].tolist(), {name: held[f"excluded {name}"] for name in EXCLUDING})


def main():
    made = Completion.learn()
    made.save(pathlib.Path(sys.argv[1]))
    print(f"{len(made.scenes)} combinations, {len(made.words)} words and pairs")


if __name__ == "__main__":
    main()
