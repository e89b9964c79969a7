"""What a picture of the built-in model's training set shows, chosen at random but coherently."""
from dataclasses import dataclass, replace

import numpy as np

TIMES = ("dawn", "morning", "noon", "sunset", "dusk", "night")
MOODS = ("clear", "cloudy", "stormy", "misty")
LANDS = ("mountains", "hills", "desert", "cliffs", "islands", "city", "forest", "meadow", "open sea")
WATERS = ("none", "lake", "sea")
COLOURS = ("red", "orange", "golden", "pink", "purple", "blue", "teal", "green", "grey", "black and white")
SEASONS = ("spring", "summer", "autumn", "winter")
FOREGROUNDS = ("none", "boat", "cabin", "lone tree", "birds")

SUBJECTS = ("lighthouse", "windmill", "road", "bridge", "deer", "swans")
STYLES = ("ink", "poster", "watercolour", "woodcut")
# Colours of the sky from the top to the horizon, where two are named.
COLOUR_PAIRS = (("purple", "orange"), ("blue", "pink"), ("teal", "orange"), ("red", "golden"), ("blue", "orange"), ("purple", "pink"), ("blue", "golden"),
                ("pink", "orange"), ("purple", "golden"), ("teal", "pink"), ("green", "golden"), ("blue", "purple"), ("purple", "teal"), ("orange", "golden"),
                ("purple", "red"), ("blue", "green"), ("teal", "golden"), ("red", "orange"))
# How often each new thing is what a wide scene is about; the rest have none.
WIDE_SHARES = {"lighthouse": 0.080, "windmill": 0.080, "road": 0.080, "bridge": 0.080, "deer": 0.055, "swans": 0.045, "rain": 0.080, "rainbow": 0.080,
               "ink": 0.045, "poster": 0.045, "watercolour": 0.045, "woodcut": 0.045, "colours": 0.090, "none": 0.150}
SECOND_SHARE = 0.14  # of those with a new thing

# The times at which each colour word is believable.
COLOUR_TIMES = {
    "red": ("sunset", "sunset", "dusk"),
    "orange": ("sunset", "sunset", "dawn"),
    "golden": ("sunset", "sunset", "dawn"),
    "pink": ("sunset", "dawn", "dusk"),
    "purple": ("dusk", "dusk", "night"),
    "blue": ("noon", "night", "morning"),
    "teal": ("noon", "night", "morning"),
    "green": ("noon", "night", "morning"),
    "grey": ("noon", "morning"),
    "black and white": ("noon", "night"),
}


@dataclass(frozen=True)
class Scene:
    time: str
    mood: str
    colour: str | None
    land: str
    water: str
    vegetation: str  # none | pines | trees | flowers
    season: str | None
    snow: bool
    sun: bool
    moon: bool
    stars: bool
    aurora: bool
    foreground: str
    seed: int
    subject: str = "none"  # none | one of SUBJECTS
    rain: bool = False
    rainbow: bool = False
    style: str = "none"  # none | one of STYLES
    colours: tuple[str, str] | None = None  # one of COLOUR_PAIRS
    wisps: bool = True  # thin clouds on a clear day


def _pick(rng, values, weights=None):
    if weights is not None:
        weights = np.asarray(weights, float)
        weights = weights / weights.sum()
    return values[int(rng.choice(len(values), p=weights))]


def sample_scene(rng: np.random.Generator) -> Scene:
    """A coherent scene; every attribute value is common enough to be learnt."""
    colour = _pick(rng, COLOURS) if rng.random() < 0.5 else None
    if colour:
        time = _pick(rng, COLOUR_TIMES[colour])
    else:
        time = _pick(rng, TIMES, (0.11, 0.13, 0.23, 0.15, 0.10, 0.28))
    if colour == "grey":
        mood = _pick(rng, MOODS, (0, 3, 3, 4))
    elif colour in ("orange", "golden", "red", "pink"):
        mood = _pick(rng, MOODS, (5, 4, 0, 2))
    else:
        mood = _pick(rng, MOODS, (5, 3.2, 1.3, 2))
    if time == "sunset" and mood == "stormy":
        mood = "cloudy"

    land = _pick(rng, LANDS, (0.23, 0.14, 0.09, 0.09, 0.09, 0.11, 0.11, 0.08, 0.08))
    water = {
        "mountains": lambda: _pick(rng, WATERS, (0.4, 0.6, 0)),
        "hills": lambda: _pick(rng, WATERS, (0.55, 0.45, 0)),
        "desert": lambda: "none",
        "cliffs": lambda: "sea",
        "islands": lambda: "sea",
        "city": lambda: _pick(rng, WATERS, (0.5, 0.5, 0)),
        "forest": lambda: _pick(rng, WATERS, (0.55, 0.45, 0)),
        "meadow": lambda: "none",
        "open sea": lambda: "sea",
    }[land]()

    season = None
    if land in ("mountains", "hills", "forest"):
        if rng.random() < 0.75:
            season = _pick(rng, SEASONS, (1, 1, 1.2, 1.8))
    elif land == "meadow":
        season = _pick(rng, SEASONS, (1.5, 1.5, 0.6, 0.5)) if rng.random() < 0.7 else None
    elif land == "city" and water == "none" and rng.random() < 0.25:
        season = "winter"
    snow = season == "winter" or (land == "mountains" and season in (None, "spring") and rng.random() < 0.7)

    vegetation = "none"
    if land == "forest":
        vegetation = _pick(rng, ("pines", "trees"), (0.6, 0.4))
    elif land == "mountains":
        vegetation = _pick(rng, ("none", "pines"), (0.35, 0.65))
    elif land == "hills":
        vegetation = _pick(rng, ("none", "pines", "trees", "flowers"), (0.2, 0.25, 0.4, 0.15 if water == "none" else 0))
    elif land == "meadow":
        vegetation = "flowers"
    if season == "winter" and vegetation in ("trees", "flowers"):
        vegetation = "pines" if land in ("forest", "hills") else "none"

    night = time == "night"
    hidden = {"clear": 0.0, "cloudy": 0.3, "stormy": 1.0, "misty": 0.55}[mood]
    stars = bool(night and mood == "clear")
    aurora = bool(stars and rng.random() < 0.38 and colour in (None, "green", "teal", "purple"))
    moon = bool(night and not aurora and rng.random() > max(hidden, 0.22))
    if time in ("dawn", "morning", "noon", "sunset"):
        sun = rng.random() > max(hidden, 0.15 if time == "sunset" else 0.35)
    else:
        sun = False
    choices = {"none": 4.0, "birds": 0.0, "boat": 0.0, "cabin": 0.0, "lone tree": 0.0}
    if water != "none":
        choices["boat"] = 2.6
    if land in ("mountains", "hills", "forest", "meadow"):
        choices["cabin"] = 2.0
    if land in ("hills", "meadow", "desert") and season != "winter":
        choices["lone tree"] = 2.2
    if not night and mood != "stormy":
        choices["birds"] = 1.2
    foreground = _pick(rng, tuple(choices), tuple(choices.values()))
    return Scene(time, mood, colour, land, water, vegetation, season, bool(snow), bool(sun), moon, stars, aurora,
                 foreground, int(rng.integers(0, 2**31)))


def _allows(s: Scene, thing: str) -> bool:
    """Whether the new thing can be in the scene and be seen there."""
    day = s.time in ("morning", "noon")
    seen = s.mood != "misty" and not (s.time == "night" and s.mood == "stormy")
    dry = s.water == "none"
    if thing == "lighthouse":
        return seen and s.land in ("cliffs", "islands", "open sea")
    if thing == "windmill":
        return seen and dry and s.land in ("hills", "meadow")
    if thing == "road":
        return seen and dry and s.land in ("hills", "meadow", "desert", "mountains", "forest", "city")
    if thing == "bridge":
        return seen and s.water == "lake"
    if thing == "deer":
        return seen and dry and s.land in ("meadow", "hills", "forest", "mountains") and s.time != "night"
    if thing == "swans":
        return seen and s.water == "lake" and s.mood != "stormy"
    if thing == "rain":
        return seen and s.mood in ("cloudy", "stormy") and not s.snow and s.land != "desert"
    if thing == "rainbow":
        return day and s.mood in ("cloudy", "stormy") and s.colour is None and not s.snow
    if thing == "ink":
        return seen and s.time != "night" and s.colour in (None, "black and white")
    if thing == "colours":
        return s.colour is None and s.time in ("sunset", "dawn", "dusk", "night") and s.mood in ("clear", "cloudy") and not s.aurora
    return seen and s.colour not in ("grey", "black and white")


def _with(s: Scene, thing: str, rng) -> Scene:
    if thing in SUBJECTS:
        return replace(s, subject=thing, foreground="birds" if s.foreground == "birds" else "none")
    if thing in STYLES:
        return replace(s, style=thing)
    if thing == "rain":
        return replace(s, rain=True, sun=False, moon=False, stars=False, aurora=False, foreground="none" if s.foreground == "birds" else s.foreground)
    if thing == "rainbow":
        return replace(s, rainbow=True, sun=False, foreground="none" if s.foreground == "birds" else s.foreground)
    return replace(s, colours=_pick(rng, COLOUR_PAIRS))


def sample_wide_scene(rng: np.random.Generator) -> Scene:
    """A scene of `sample_scene` with one, sometimes two, of the subjects, weathers, styles and pairs of colours that those do not have."""
    thing = _pick(rng, tuple(WIDE_SHARES), tuple(WIDE_SHARES.values()))
    scene = sample_scene(rng)
    if thing == "none":
        return scene
    while not _allows(scene, thing):
        scene = sample_scene(rng)
    wide = _with(scene, thing, rng)
    if rng.random() < SECOND_SHARE and thing not in STYLES:
        # ink and woodcut would take away the colours that these are about, a poster those of a rainbow
        second = _pick(rng, {"rainbow": ("watercolour",), "colours": ("poster", "watercolour")}.get(thing, (*STYLES, "colours")))
        if _allows(wide, second):
            wide = _with(wide, second, rng)
    if thing == "rainbow" and rng.random() < 0.2:
        wide = _with(wide, "rain", rng)
    return wide
