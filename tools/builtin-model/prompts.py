"""Says what a Scene shows as a person types it: 'northern lights over a frozen lake in winter'.

Beside captions.py, whose captions measurements compare and which therefore stay as they are, this has more words and more ways to begin: with the light, the
sky or what stands in front. For scenes without what only wide ones have.
"""

import numpy as np

from captions import with_article, colour_word, front_phrase, land_phrase, mood_word, one_of, part_phrases, without_article, time_words


def _light(s, rng) -> list[str]:
    """The lights in the sky, as one names them first."""
    lights = []
    if s.aurora:
        lights.append(one_of(rng, "northern lights", "northern lights", "aurora", "green aurora" if s.colour in (None, "green") else "aurora"))
    if s.stars:
        lights.append(one_of(rng, "a starry night", "many stars", "a night with many stars", "countless stars", "a clear starry sky"))
    if s.moon:
        lights.append(one_of(rng, "the moon", "a full moon", "a bright moon", "a pale moon", "the moonlight"))
    if s.sun:
        lights.append(one_of(rng, {"dawn": "the rising sun", "sunset": "the setting sun", "noon": "the midday sun", "morning": "the morning sun"}[s.time], "the sun", "a bright sun"))
    return lights


def _skies(s, rng) -> list[str]:
    """The sky, by its colour, hour or weather."""
    adjective, _ = time_words(s, rng)
    if s.colour == "black and white":
        return [f"a {mood_word(s, rng)} sky"]
    if s.colour:
        colour = colour_word(s, rng)
        return [with_article(f"{colour} sky"), with_article(f"{one_of(rng, 'pale', 'deep', 'soft')} {colour} sky"), with_article(f"{colour} {adjective}"), f"{colour} {adjective} light"]
    skies = [with_article(f"{mood_word(s, rng)} {adjective}"), with_article(f"{mood_word(s, rng)} sky")]
    if s.mood == "stormy":
        skies.append(one_of(rng, "heavy clouds", "dark clouds", "storm clouds"))
    elif s.mood == "cloudy":
        skies.append(one_of(rng, "soft clouds", "drifting clouds", "a cloudy sky"))
    elif s.mood == "clear" and s.time in ("noon", "morning"):
        skies.append(one_of(rng, "a clear blue sky", "a bright blue sky", "a blue sky"))
    return skies


def _water(s, rng) -> str:
    """The lake or sea with an adjective."""
    colour = f"{colour_word(s, rng)} " if s.colour and s.colour != "black and white" and rng.random() < 0.3 else ""
    if s.water == "sea":
        return with_article(f"{one_of(rng, 'dark', 'stormy', 'rough') if s.mood == 'stormy' else one_of(rng, 'quiet', 'calm', 'wide', 'still')} {colour}{one_of(rng, 'sea', 'ocean')}")
    if s.season == "winter" and rng.random() < 0.6:
        return one_of(rng, f"a frozen {colour}lake", f"a cold {colour}lake", f"a frozen {colour}lake in winter", f"an icy {colour}lake")
    return with_article(f"{'dark' if s.mood == 'stormy' else one_of(rng, 'calm', 'quiet', 'still', 'clear', 'small')} {colour}lake")


def _scenery(s, rng) -> str:
    """The land with up to two adjectives: 'a misty autumn forest'."""
    land = land_phrase(s, rng)
    if s.land == "forest" and s.snow and rng.random() < 0.4:
        land = one_of(rng, "a pine forest in the snow", "a pine forest in winter", "pines in the snow", "a forest of pines in the snow")
    adjectives = []
    if s.mood in ("misty", "stormy") and rng.random() < 0.5:
        adjectives.append(one_of(rng, "misty", "foggy", "hazy") if s.mood == "misty" else "stormy")
    if s.colour and s.colour != "black and white" and rng.random() < 0.5:
        adjectives.append(colour_word(s, rng))
    if s.season and s.season not in land and rng.random() < 0.6 and not (s.season == "winter" and "snow" in land):
        adjectives.append(s.season)
    if s.land == "hills" and rng.random() < 0.35:
        land = one_of(rng, "round hills", "a valley", "a snowy valley" if s.snow else "a green valley" if s.time in ("noon", "morning") and s.season in (None, "spring", "summer")
                    and not s.colour else "a wide valley")
    if s.land == "meadow" and not s.snow and rng.random() < 0.4:
        land = one_of(rng, "a meadow", "a wide meadow", "meadow")
    single = land.startswith(("a ", "an "))
    text = " ".join([*adjectives, without_article(land)])
    return with_article(text) if single and rng.random() < 0.85 else text


def _front_first(s, rng) -> str:
    """What stands in front, and where."""
    front = front_phrase(s, rng).removesuffix(" on the water")
    if s.foreground == "boat":
        return f"{front} on {_water(s, rng)}"
    if s.foreground == "birds":
        return f"{front} {one_of(rng, 'over', 'above')} {_scenery(s, rng)}"
    if s.water == "lake":
        return f"{front} {one_of(rng, 'by', 'beside', 'at', 'on the shore of')} {_water(s, rng)}"
    place = {"hills": one_of(rng, "on a hill", "on the hill", "in the hills", "in a valley"), "meadow": one_of(rng, "in a meadow", "in the fields"), "desert": "in the desert",
             "mountains": one_of(rng, "in the mountains", "below the mountains"), "forest": one_of(rng, "in the woods", "at the edge of a forest", "in the forest")}
    return f"{front} {place.get(s.land, '')}"


def _place_first(s, rng) -> str:
    """The land with the water before it."""
    scenery = _scenery(s, rng)
    if s.land == "city" and s.water == "lake":
        lights = one_of(rng, ", its lights reflected", ", lights reflected in the water", "") if s.time in ("night", "dusk") else ""
        return f"{scenery} {one_of(rng, 'beside the water', 'by the water', 'by a river', 'on the shore')}{lights}"
    if s.land in ("cliffs", "islands"):
        return f"{one_of(rng, 'cliffs', 'steep cliffs') if s.land == 'cliffs' else one_of(rng, 'islands', 'small islands')} {'above' if s.land == 'cliffs' else 'in'} {_water(s, rng)}"
    if s.land == "open sea":
        return _water(s, rng)
    if s.water == "lake":
        if s.vegetation in ("pines", "trees") and rng.random() < 0.4:
            season = f"{s.season} " if s.season and s.season != "winter" else ""
            return f"{season}{one_of(rng, 'pines', 'pine trees') if s.vegetation == 'pines' else 'trees'} {one_of(rng, 'round', 'around', 'along')} {_water(s, rng)}"
        return f"{scenery} {one_of(rng, 'around', 'behind', 'above', 'and')} {_water(s, rng)}"
    return scenery


def prompt(s, rng: np.random.Generator) -> str:
    """A few words to a line, the main thing first."""
    _, end = time_words(s, rng)
    lights, skies = _light(s, rng), _skies(s, rng)
    above = one_of(rng, *(lights if lights and rng.random() < 0.6 else skies))
    below = _water(s, rng) if s.water != "none" and rng.random() < 0.5 else _scenery(s, rng)
    when = f" {end}" if rng.random() < 0.5 else ""
    kind = rng.random()
    if s.foreground != "none" and kind < 0.3:
        text = f"{_front_first(s, rng)}{when}{one_of(rng, f' under {above}', f', {above}', '')}"
    elif kind < 0.55:
        text = f"{above} {one_of(rng, 'over', 'above')} {below}{when if not above.startswith('a starry') else ''}"
    elif kind < 0.75:
        text = f"{_place_first(s, rng)}{when}{one_of(rng, f', {above}', '')}"
    elif kind < 0.9:
        text = f"{below}{when} {one_of(rng, 'under', 'beneath')} {above}"
    else:
        text = f"{below}{when}, {above}"
    if rng.random() < 0.45:
        parts = part_phrases(s, rng)
        rng.shuffle(parts)
        if s.foreground != "none" and kind >= 0.3:
            parts.insert(0, front_phrase(s, rng))
        words = set(text.split())
        fresh = [part for part in parts if not words & set(without_article(part).replace(",", "").split()[-1:])]
        text = ", ".join([text, *fresh[: one_of(rng, 1, 1, 2)]])
    if s.colour == "black and white":
        text = one_of(rng, f"{text} in black and white", f"{text}, black and white", f"black and white {without_article(text)}")
    return " ".join(text.split()[:25])
