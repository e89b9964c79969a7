"""Says what a Scene shows as a person types it: 'northern lights over a frozen lake in winter'.

Beside captions.py, whose captions measurements compare and which therefore stay as they are, this has more words and more ways to begin: with the light, the
sky or what stands in front. For scenes without what only wide ones have.
"""

import numpy as np

from captions import _an, _colour, _front, _land, _mood_word, _one, _parts, _strip, _time_words


def _light(s, rng) -> list[str]:
    """The lights in the sky, as one names them first."""
    _, end = _time_words(s, rng)
    lights = []
    if s.aurora:
        lights.append(_one(rng, "northern lights", "northern lights", "aurora", "green aurora" if s.colour in (None, "green") else "aurora"))
    if s.stars:
        lights.append(_one(rng, "a starry night", "many stars", "a night with many stars", "countless stars", "a clear starry sky"))
    if s.moon:
        lights.append(_one(rng, "the moon", "a full moon", "a bright moon", "a pale moon", "the moonlight"))
    if s.sun:
        lights.append(_one(rng, {"dawn": "the rising sun", "sunset": "the setting sun", "noon": "the midday sun", "morning": "the morning sun"}[s.time], "the sun", "a bright sun"))
    return lights


def _skies(s, rng) -> list[str]:
    """The sky, by its colour, hour or weather."""
    adjective, _ = _time_words(s, rng)
    if s.colour == "black and white":
        return [f"a {_mood_word(s, rng)} sky"]
    if s.colour:
        colour = _colour(s, rng)
        return [_an(f"{colour} sky"), _an(f"{_one(rng, 'pale', 'deep', 'soft')} {colour} sky"), _an(f"{colour} {adjective}"), f"{colour} {adjective} light"]
    skies = [_an(f"{_mood_word(s, rng)} {adjective}"), _an(f"{_mood_word(s, rng)} sky")]
    if s.mood == "stormy":
        skies.append(_one(rng, "heavy clouds", "dark clouds", "storm clouds"))
    elif s.mood == "cloudy":
        skies.append(_one(rng, "soft clouds", "drifting clouds", "a cloudy sky"))
    elif s.mood == "clear" and s.time in ("noon", "morning"):
        skies.append(_one(rng, "a clear blue sky", "a bright blue sky", "a blue sky"))
    return skies


def _water(s, rng) -> str:
    """The lake or sea with an adjective."""
    colour = f"{_colour(s, rng)} " if s.colour and s.colour != "black and white" and rng.random() < 0.3 else ""
    if s.water == "sea":
        return _an(f"{_one(rng, 'dark', 'stormy', 'rough') if s.mood == 'stormy' else _one(rng, 'quiet', 'calm', 'wide', 'still')} {colour}{_one(rng, 'sea', 'ocean')}")
    if s.season == "winter" and rng.random() < 0.6:
        return _one(rng, f"a frozen {colour}lake", f"a cold {colour}lake", f"a frozen {colour}lake in winter", f"an icy {colour}lake")
    return _an(f"{'dark' if s.mood == 'stormy' else _one(rng, 'calm', 'quiet', 'still', 'clear', 'small')} {colour}lake")


def _scenery(s, rng) -> str:
    """The land with up to two adjectives: 'a misty autumn forest'."""
    land = _land(s, rng)
    adjectives = []
    if s.mood in ("misty", "stormy") and rng.random() < 0.5:
        adjectives.append(_one(rng, "misty", "foggy", "hazy") if s.mood == "misty" else "stormy")
    if s.colour and s.colour != "black and white" and rng.random() < 0.5:
        adjectives.append(_colour(s, rng))
    if s.season and s.season not in land and rng.random() < 0.6 and not (s.season == "winter" and "snow" in land):
        adjectives.append(s.season)
    if s.land == "hills" and rng.random() < 0.35:
        land = _one(rng, "round hills", "a valley", "a snowy valley" if s.snow else "a green valley" if s.time in ("noon", "morning") and s.season in (None, "spring", "summer")
                    and not s.colour else "a wide valley")
    if s.land == "meadow" and not s.snow and rng.random() < 0.4:
        land = _one(rng, "a meadow", "a wide meadow", "meadow")
    single = land.startswith(("a ", "an "))
    text = " ".join([*adjectives, _strip(land)])
    return _an(text) if single and rng.random() < 0.85 else text


def _front_first(s, rng) -> str:
    """What stands in front, and where."""
    front = _front(s, rng).removesuffix(" on the water")
    if s.foreground == "boat":
        return f"{front} on {_water(s, rng)}"
    if s.foreground == "birds":
        return f"{front} {_one(rng, 'over', 'above')} {_scenery(s, rng)}"
    if s.water == "lake":
        return f"{front} {_one(rng, 'by', 'beside', 'at', 'on the shore of')} {_water(s, rng)}"
    place = {"hills": _one(rng, "on a hill", "on the hill", "in the hills", "in a valley"), "meadow": _one(rng, "in a meadow", "in the fields"), "desert": "in the desert",
             "mountains": _one(rng, "in the mountains", "below the mountains"), "forest": _one(rng, "in the woods", "at the edge of a forest", "in the forest")}
    return f"{front} {place.get(s.land, '')}"


def _place_first(s, rng) -> str:
    """The land with the water before it."""
    scenery = _scenery(s, rng)
    if s.land == "city" and s.water == "lake":
        lights = _one(rng, ", its lights reflected", ", lights reflected in the water", "") if s.time in ("night", "dusk") else ""
        return f"{scenery} {_one(rng, 'beside the water', 'by the water', 'by a river', 'on the shore')}{lights}"
    if s.land in ("cliffs", "islands"):
        return f"{_one(rng, 'cliffs', 'steep cliffs') if s.land == 'cliffs' else _one(rng, 'islands', 'small islands')} {'above' if s.land == 'cliffs' else 'in'} {_water(s, rng)}"
    if s.land == "open sea":
        return _water(s, rng)
    if s.water == "lake":
        if s.vegetation in ("pines", "trees") and rng.random() < 0.4:
            season = f"{s.season} " if s.season and s.season != "winter" else ""
            return f"{season}{_one(rng, 'pines', 'pine trees') if s.vegetation == 'pines' else 'trees'} {_one(rng, 'round', 'around', 'along')} {_water(s, rng)}"
        return f"{scenery} {_one(rng, 'around', 'behind', 'above', 'and')} {_water(s, rng)}"
    return scenery


def prompt(s, rng: np.random.Generator) -> str:
    """A few words to a line, the main thing first."""
    _, end = _time_words(s, rng)
    lights, skies = _light(s, rng), _skies(s, rng)
    above = _one(rng, *(lights if lights and rng.random() < 0.6 else skies))
    below = _water(s, rng) if s.water != "none" and rng.random() < 0.5 else _scenery(s, rng)
    when = f" {end}" if rng.random() < 0.5 else ""
    kind = rng.random()
    if s.foreground != "none" and kind < 0.3:
        text = f"{_front_first(s, rng)}{when}{_one(rng, f' under {above}', f', {above}', '')}"
    elif kind < 0.55:
        text = f"{above} {_one(rng, 'over', 'above')} {below}{when if not above.startswith('a starry') else ''}"
    elif kind < 0.75:
        text = f"{_place_first(s, rng)}{when}{_one(rng, f', {above}', '')}"
    elif kind < 0.9:
        text = f"{below}{when} {_one(rng, 'under', 'beneath')} {above}"
    else:
        text = f"{below}{when}, {above}"
    if rng.random() < 0.45:
        parts = _parts(s, rng)
        rng.shuffle(parts)
        if s.foreground != "none" and kind >= 0.3:
            parts.insert(0, _front(s, rng))
        words = set(text.split())
        fresh = [part for part in parts if not words & set(_strip(part).replace(",", "").split()[-1:])]
        text = ", ".join([text, *fresh[: _one(rng, 1, 1, 2)]])
    if s.colour == "black and white":
        text = _one(rng, f"{text} in black and white", f"{text}, black and white", f"black and white {_strip(text)}")
    return " ".join(text.split()[:25])
