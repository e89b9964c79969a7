"""Says in varied words what a Scene shows: true, mostly lower case, 1 to 25 words, the main thing first."""
import re

import numpy as np

COLOUR_WORDS = {"golden": ("gold", "golden", "yellow"), "purple": ("purple", "purple", "violet"), "teal": ("teal", "teal", "turquoise")}
# What a caption of a wide scene has to say.
SAID = {
    "lighthouse": r"lighthouse", "windmill": r"\bmill|windmill", "road": r"\b(road|path|highway)\b", "bridge": r"bridge", "deer": r"\b(deer|stag)\b", "swans": r"swan",
    "rain": r"\brain|downpour", "rainbow": r"rainbow", "ink": r"\b(ink|sumi-e)\b", "poster": r"poster", "watercolour": r"watercolou?r", "woodcut": r"woodcut|woodblock|linocut",
    "colours": r"\w and \w",
}


def one_of(rng, *options):
    return options[int(rng.integers(len(options)))]


def time_words(s, rng):
    """(adjective, ending): 'night', 'at night'."""
    return {
        "dawn": (one_of(rng, "dawn", "sunrise", "early morning"), one_of(rng, "at dawn", "at sunrise", "at daybreak", "in the early morning")),
        "morning": (one_of(rng, "morning", "daytime"), one_of(rng, "in the morning", "on a bright morning" if s.mood == "clear" else "in the morning", "by day")),
        "noon": (one_of(rng, "noon", "daytime", "midday"), one_of(rng, "at noon", "at midday", "by day", "in daylight", "during the day")),
        "sunset": (one_of(rng, "sunset", "evening"), one_of(rng, "at sunset", "at sundown", "in the evening", "in the evening light")),
        "dusk": (one_of(rng, "dusk", "twilight", "evening"), one_of(rng, "at dusk", "at twilight", "in the twilight", "after sunset")),
        "night": (one_of(rng, "night", "night", "midnight"), one_of(rng, "at night", "at night", "at midnight", "in the dark")),
    }[s.time]


def mood_word(s, rng):
    return {
        "clear": one_of(rng, "clear", "calm", "peaceful", "quiet", "serene"),
        "cloudy": one_of(rng, "cloudy", "overcast" if not s.sun and not s.moon else "cloudy"),
        "stormy": one_of(rng, "stormy", "dark stormy", "dramatic", "gloomy"),
        "misty": one_of(rng, "misty", "foggy", "hazy"),
    }[s.mood]


def colour_word(s, rng):
    if s.colours:
        pair = [one_of(rng, *COLOUR_WORDS.get(colour, (colour,))) for colour in s.colours]
        return " and ".join(pair if rng.random() < 0.5 else pair[::-1])
    if s.colour == "golden":
        return one_of(rng, "golden", "golden", "gold", "yellow")
    if s.colour == "grey":
        return one_of(rng, "grey", "grey", "gray")
    if s.colour == "purple":
        return one_of(rng, "purple", "purple", "violet")
    if s.colour == "teal":
        return one_of(rng, "teal", "teal", "turquoise")
    if s.colour == "black and white":
        return one_of(rng, "black and white", "black and white", "monochrome")
    return s.colour


def land_phrase(s, rng):
    """(phrase, plain noun for one-word captions)."""
    if s.land == "mountains":
        if s.snow:
            return one_of(rng, "snowy mountains", "snow-capped mountains", "mountains with snow", "snowy peaks", "a snowy mountain", "a snow-capped mountain range")
        return one_of(rng, "mountains", "a mountain", "rocky mountains", "mountain peaks", "a mountain range", "a mountain landscape")
    if s.land == "hills":
        if s.snow:
            return one_of(rng, "snowy hills", "snow-covered hills", "hills in the snow", "winter hills" if s.colour else "white hills")
        return one_of(rng, "hills", "rolling hills", "gentle hills", "soft hills", "a hilly landscape", "low hills")
    if s.land == "desert":
        return one_of(rng, "desert", "a desert", "sand dunes", "desert dunes", "dunes in the desert", "a sandy desert", "dunes")
    if s.land == "cliffs":
        return one_of(rng, "cliffs by the sea", "sea cliffs", "tall cliffs above the sea", "a rocky coast", "cliffs on the coast", "cliffs over the ocean", "coastal cliffs")
    if s.land == "islands":
        return one_of(rng, "islands in the sea", "islands", "small islands in the ocean", "islands on the sea", "islands on the horizon", "rocky islands in the sea")
    if s.land == "city":
        if s.snow:
            return one_of(rng, "a city in winter", "a city skyline behind snowy fields", "a snowy city skyline")
        return one_of(rng, "a city skyline", "a city", "city", "skyscrapers", "tall buildings", "a skyline of towers", "a big city", "city buildings")
    if s.land == "forest":
        if s.vegetation == "pines":
            f = one_of(rng, "a pine forest", "pine woods", "a forest of pines", "a conifer forest", "a forest", "an evergreen forest", "woods of fir trees")
        else:
            f = one_of(rng, "a forest", "woods", "a forest of round trees", "woodland", "a leafy forest", "the woods")
        if s.snow:
            f = one_of(rng, "a snowy forest", "snowy pine woods", "a forest in the snow", "a winter forest", "snow-covered pine trees")
        return f
    if s.land == "meadow":
        if s.snow:
            return one_of(rng, "a snowy field", "a snow-covered meadow", "a snowy meadow", "fields in the snow")
        return one_of(rng, "a meadow with flowers", "a flower meadow", "a field of flowers", "wildflowers in a meadow", "a flowery field", "a meadow full of flowers")
    return one_of(rng, "the sea", "the open sea", "the ocean", "a seascape", "a wide ocean", "a calm sea" if s.mood in ("clear", "misty") else "the sea")


def part_phrases(s, rng):
    """Everything else that may be said, each a noun phrase that can stand in a list."""
    out = []
    if s.water == "lake":
        w = one_of(rng, "a lake", "a lake", "a calm lake", "a still lake", "reflections in the lake", "a mountain lake" if s.land == "mountains" else "a quiet lake",
                 "a river" if s.land == "city" else "a lake", "water")
        if s.mood == "stormy":
            w = one_of(rng, "a lake", "a dark lake", "water")
        out.append(w)
    elif s.water == "sea" and s.land == "open sea":
        pass
    if s.land != "forest" and s.vegetation == "pines":
        out.append(one_of(rng, "pine trees", "pines", "conifers", "fir trees", "evergreens", "pine trees"))
    if s.land != "forest" and s.vegetation == "trees":
        out.append(one_of(rng, "trees", "green trees" if s.time in ("noon", "morning") and s.season in ("summer", None, "spring") and not s.colour else "trees", "round trees", "leafy trees"))
    if s.vegetation == "flowers" and s.land != "meadow":
        out.append(one_of(rng, "flowers", "wildflowers", "blossoming flowers", "a field of flowers"))
    if s.sun:
        out.append({"sunset": one_of(rng, "a low sun", "the setting sun", "the sun", "a glowing sun"),
                    "dawn": one_of(rng, "the rising sun", "a low sun", "the sun", "a pale sun")}.get(s.time) or
                   one_of(rng, "the sun", "a bright sun", "sun", "sunshine" if s.mood == "clear" else "the sun"))
    if s.moon:
        out.append(one_of(rng, "a full moon", "the moon", "moonlight", "a bright moon", "moon", "a big moon"))
    if s.stars:
        out.append(one_of(rng, "stars", "a starry sky", "a sky full of stars", "bright stars", "starry night sky"))
    if s.aurora:
        out.append(one_of(rng, "aurora", "northern lights", "the aurora borealis", "aurora in the sky", "northern lights above"))
    if s.mood == "cloudy":
        out.append(one_of(rng, "clouds", "a cloudy sky", "soft clouds", "clouds in the sky"))
    elif s.mood == "stormy":
        out.append(one_of(rng, "storm clouds", "a stormy sky", "dark clouds", "heavy clouds"))
    elif s.mood == "misty":
        out.append(one_of(rng, "mist", "fog", "morning mist" if s.time in ("dawn", "morning") else "mist", "soft haze", "drifting mist"))
    elif s.time in ("noon", "morning") and not s.colour:
        out.append(one_of(rng, "a blue sky", "a clear sky", "blue sky"))
    if s.season and not (s.season == "winter" and rng.random() < 0.4):
        out.append({"spring": one_of(rng, "spring", "springtime", "fresh spring green" if s.time in ("noon", "morning") and not s.colour and not s.snow else "spring"),
                    "summer": one_of(rng, "summer", "summertime", "a summer day" if s.time in ("noon", "morning") else "summer"),
                    "autumn": one_of(rng, "autumn", "fall", "autumn leaves" if s.vegetation == "trees" else "autumn", "autumn colours"),
                    "winter": one_of(rng, "winter", "snow", "winter snow", "snow on the ground")}[s.season])
    elif s.snow and rng.random() < 0.5:
        out.append(one_of(rng, "snow", "snow on the peaks") if s.land == "mountains" else "snow")
    if s.land == "city" and s.time in ("night", "dusk"):
        out.append(one_of(rng, "lit windows", "city lights", "glowing windows"))
    return out


def front_phrase(s, rng):
    return {
        "boat": one_of(rng, "a sailboat", "a boat", "a sailing boat", "a small boat", "a sailboat on the water"),
        "cabin": one_of(rng, "a cabin", "a small cabin", "a cottage", "a little house", "a wooden cabin", "a hut",
                      "a cabin with a lit window" if s.time in ("night", "dusk", "sunset") else "a lonely cabin"),
        "lone tree": one_of(rng, "a lone tree", "a single tree", "a lonely tree", "one tree", "a tree"),
        "birds": one_of(rng, "birds", "birds in the sky", "flying birds", "a flock of birds"),
    }.get(s.foreground)


def with_article(phrase):
    return ("an " if phrase[0] in "aeiou" else "a ") + phrase


def without_article(phrase):
    for a in ("a ", "an ", "the "):
        if phrase.startswith(a):
            return phrase[len(a):]
    return phrase


def _place(s, rng):
    """A preposition and the land or water, for sentences."""
    land = land_phrase(s, rng)
    if s.water == "lake":
        lake = one_of(rng, "a lake", "a calm lake" if s.mood != "stormy" else "a dark lake", "the water")
        return land, one_of(rng, "by ", "beside ", "near ") + lake
    return land, ""


def _lead(s, rng):
    """The main thing, with what colours it: 'a red sunset over snowy mountains'."""
    adj, end = time_words(s, rng)
    colour = colour_word(s, rng)
    mood = mood_word(s, rng)
    land = land_phrase(s, rng)
    if s.colour == "black and white":
        k = int(rng.integers(4))
        if k == 0:
            return f"{colour} {one_of(rng, 'picture', 'photo', 'landscape', 'image')} of {land}"
        if k == 1:
            return f"{land} in black and white"
        if k == 2:
            return f"{colour} {without_article(land)}"
        return f"{land}, {colour}"
    k = int(rng.integers(9))
    if colour:
        if k == 0:
            return f"{with_article(colour + ' ' + adj)} over {land}"
        if k == 1:
            return f"{colour} {without_article(land)} {end}"
        if k == 2:
            return f"{colour} {adj}, {land}"
        if k == 3:
            return f"{land} {end}, {colour} {one_of(rng, 'sky', 'light', 'tones', 'colours')}"
        if k == 4:
            return f"{land} under {with_article(colour + ' sky')}"
        if k == 5:
            return f"{with_article(colour + ' sky')} over {land} {end}"
        if k == 6:
            return f"{land} in {colour} light"
        if k == 7:
            return f"{with_article(mood + ' ' + colour + ' ' + adj)} over {land}"
        return f"{colour} {without_article(land)}"
    if k in (0, 1):
        return f"{land} {end}"
    if k == 2:
        return f"{with_article(adj)} over {land}"
    if k == 3:
        return f"{with_article(mood + ' ' + adj)} over {land}"
    if k == 4:
        return f"{mood} {without_article(land)} {end}"
    if k == 5:
        return f"{with_article(mood + ' sky')} over {land} {end}"
    if k == 6:
        return f"{land}, {adj}"
    if k == 7 and s.time == "night" and s.stars:
        return f"{with_article('starry ' + adj)} over {land}"
    if k == 7 and s.season:
        return one_of(rng, f"{s.season} {without_article(land)} {end}", f"{land} in {s.season}", f"{land} in {s.season} {end}",
                    f"{with_article(s.season + ' ' + adj)} over {land}", f"{with_article(s.season + ' landscape')} with {land}")
    if k == 7 and s.time in ("sunset", "dawn"):
        return f"{with_article(one_of(rng, 'warm', 'glowing', 'soft') + ' ' + adj)} over {land}"
    return f"{land}"


def _sentence(s, rng):
    adj, end = time_words(s, rng)
    land, by = _place(s, rng)
    front = front_phrase(s, rng)
    colour = colour_word(s, rng)
    tinted = "" if not colour else f" in {colour} light" if s.colour != "black and white" else " in black and white"
    sky = ""
    if s.stars and rng.random() < 0.6:
        sky = one_of(rng, " under the stars", " beneath a starry sky", " under a starry sky")
    elif s.aurora:
        sky = one_of(rng, " under the northern lights", " beneath the aurora")
    elif s.moon and rng.random() < 0.7:
        sky = one_of(rng, " under a full moon", " in the moonlight", " beneath the moon")
    elif s.mood == "stormy":
        sky = one_of(rng, " under storm clouds", " under a stormy sky", " beneath dark clouds")
    elif s.mood == "misty":
        sky = one_of(rng, " in the mist", " in fog", " in a soft haze")
    elif s.mood == "cloudy" and rng.random() < 0.6:
        sky = one_of(rng, " under a cloudy sky", " under soft clouds")
    elif s.sun and rng.random() < 0.5:
        sky = one_of(rng, " under the sun", " in the light of the sun")
    water = {"lake": one_of(rng, "lake", "calm lake" if s.mood != "stormy" else "dark lake", "water"), "sea": one_of(rng, "sea", "ocean", "water")}.get(s.water)
    behind = one_of(rng, "with {} behind", "below {}", "in front of {}").format(land)
    if s.land in ("cliffs", "islands"):
        behind = one_of(rng, "near {}", "by {}").format(one_of(rng, "the cliffs", "tall cliffs", "a rocky coast") if s.land == "cliffs" else one_of(rng, "islands", "small islands"))
    elif s.land in ("open sea", "desert", "meadow"):
        behind = ""
    if s.foreground == "boat":
        core = f"{_strip_on(front)} {one_of(rng, 'on', 'sails on', 'drifts on', 'glides over')} the {water} {behind}".strip()
        tail = one_of(rng, end + tinted, end + sky, sky.strip() + tinted, end)
    elif s.foreground in ("cabin", "lone tree"):
        where = {"desert": "in the desert", "meadow": one_of(rng, "in ", "stands in ") + land}.get(s.land) or (by or "") + (" " if by else "") + behind
        core = f"{front} {where}"
        tail = one_of(rng, end + tinted, end + sky, end)
    elif s.foreground == "birds":
        core = f"{one_of(rng, 'birds fly', 'a flock of birds flies', 'birds')} over {land}"
        tail = one_of(rng, end + tinted, tinted.strip() or end, end + sky)
    elif s.vegetation in ("pines", "trees") and s.land != "forest" and rng.random() < 0.5:
        trees = one_of(rng, "pine trees", "pines", "conifers") if s.vegetation == "pines" else one_of(rng, "trees", "leafy trees")
        core = f"{trees} {one_of(rng, 'stand by', 'by', 'beside')} {with_article(without_article(water))} {one_of(rng, 'beneath', 'below', 'in front of')} {land}" if s.water == "lake" and water != "water" \
            else f"{trees} {one_of(rng, 'stand in front of', 'before', 'in front of')} {land}"
        tail = one_of(rng, end + tinted, end + sky, tinted.strip() or end)
    elif s.water == "lake":
        core = one_of(rng, f"{land} reflected in {with_article(without_article(water)) if water != 'water' else 'the water'}", f"{land} {by}",
                    f"{with_article(water) if water != 'water' else 'water'} {one_of(rng, 'below', 'in front of')} {land}")
        tail = one_of(rng, end + tinted, end + sky, tinted.strip() or end)
    else:
        core = land
        tail = one_of(rng, sky.strip() + " " + end, end + tinted, sky.strip() + tinted if sky or tinted else end)
    return f"{core} {tail}"


def _strip_on(front):
    return front.replace(" on the water", "")


def _subject(s, rng):
    """A subject with the place where it is, and its plain noun."""
    land = land_phrase(s, rng)
    if s.subject == "lighthouse":
        plain = one_of(rng, "lighthouse", "lighthouse", "old lighthouse", "tall lighthouse", "lighthouse with a red roof" if not (s.colour or s.colours or s.style != "none") else "lighthouse",
                     "shining lighthouse" if s.time in ("night", "dusk") else "lighthouse")
        place = {"cliffs": one_of(rng, "on the cliffs", "on a cliff", "on tall cliffs above the sea", "on a rocky coast", "on the coast", "by the sea"),
                 "islands": one_of(rng, "on an island", "on a small island", "on a rocky island", "among islands in the sea", "by the sea"),
                 "open sea": one_of(rng, "on a rock in the sea", "by the sea", "in the ocean", "on a tiny island", "on the coast", "at sea")}[s.land]
    elif s.subject == "windmill":
        plain = one_of(rng, "windmill", "windmill", "old windmill", "windmill with four sails", "lonely windmill")
        place = {"hills": one_of(rng, "on a hill", "on the hill", "in the hills", "on a snowy hill" if s.snow else "on a green hill" if s.time in ("noon", "morning") and
                               s.season in (None, "summer", "spring") and not s.colour and s.style == "none" else "on a hill"),
                 "meadow": one_of(rng, "in a snowy field", "in the snow") if s.snow else one_of(rng, "in a meadow", "in a field", "in a field of flowers", "among flowers", "in the fields")}[s.land]
    elif s.subject == "road":
        plain = one_of(rng, "winding road", "road", "winding road", "country road" if s.land not in ("desert", "city") else "long road", "path" if s.land not in ("desert", "city") else "highway")
        toward = one_of(rng, "through the hills", "into the hills", "over rolling hills", "into the distance")
        place = {"hills": toward, "meadow": one_of(rng, "through a meadow", "through the fields", "across a field", "into the distance"),
                 "desert": one_of(rng, "through the desert", "in the desert", "across the dunes", "into the distance"),
                 "mountains": one_of(rng, "to the mountains", "into the mountains", f"towards {land}", "leading to the mountains"),
                 "forest": one_of(rng, "to the forest", "into the woods", "leading to a forest", "towards the trees"),
                 "city": one_of(rng, "to the city", "leading to a city", "towards the skyline")}[s.land]
        if s.snow and s.land != "mountains" and rng.random() < 0.4:
            place = one_of(rng, "through the snow", "in a snowy landscape")
    elif s.subject == "bridge":
        plain = one_of(rng, "stone bridge", "bridge", "arched bridge", "old stone bridge", "bridge with arches")
        place = one_of(rng, "over the lake", "over the water", "over a river", "across the river", "across a lake", f"in front of {land}")
    elif s.subject == "deer":
        plain = one_of(rng, "deer", "deer", "stag", "lone deer", "stag with antlers")
        place = {"meadow": one_of(rng, "in a meadow", "in a field", "standing in a meadow"), "hills": one_of(rng, "on a hill", "in the hills", "standing on a hill"),
                 "forest": one_of(rng, "at the edge of a forest", "in front of a forest", "by the woods"),
                 "mountains": one_of(rng, "in the mountains", f"in front of {land}", "below the mountains")}[s.land]
        if s.snow and s.land != "mountains" and rng.random() < 0.4:
            place = one_of(rng, "in the snow", "standing in the snow")
    else:
        plain = one_of(rng, "two swans", "swans", "a pair of swans", "white swans" if s.time in ("noon", "morning") and not s.colour and s.style == "none" else "swans")
        place = one_of(rng, "on a lake", "on the lake", "on the water", "swimming on a lake", "on a quiet lake", f"in front of {land}")
        return f"{plain} {place}", plain
    article = "the" if rng.random() < 0.08 else None
    return (f"{article} {plain}" if article else with_article(plain)) + " " + place, plain


def _weather(s, rng):
    """Rain and rainbow with the land, and the plain noun."""
    land = "the sea" if s.land == "open sea" else land_phrase(s, rng)
    if s.rainbow:
        over = one_of(rng, f"a rainbow over {land}", f"a rainbow above {land}", f"{land} under a rainbow", f"{land} with a rainbow", "a rainbow in the sky", "a rainbow")
        if s.rain:
            return one_of(rng, f"{over} in the rain", f"rain and a rainbow over {land}"), one_of(rng, "rainbow in the rain", "rain and rainbow")
        if rng.random() < 0.2:
            over = one_of(rng, f"a rainbow after the rain over {land}", f"{land} and a bright rainbow")
        return over, "rainbow"
    return one_of(rng, f"rain over {land}", f"{land} in the rain", f"rain falling on {land}", f"{one_of(rng, 'heavy', 'falling', 'pouring')} rain over {land}",
                f"a rainy day, {land}" if s.time in ("noon", "morning") else f"rainy {without_article(land)}", f"rainy {without_article(land)}"), one_of(rng, "rain", "rain", "falling rain", "rainy weather")


def _in_style(s, text, rng):
    name, endings = {
        "ink": (one_of(rng, "an ink drawing", "an ink drawing", "an ink painting", "a sumi-e ink painting", "a black ink drawing"), ("ink drawing", "in ink", "ink painting", "ink wash")),
        "poster": (one_of(rng, "a poster", "a poster", "a travel poster", "a flat poster"), ("poster", "poster style", "travel poster", "flat colours, poster")),
        "watercolour": (one_of(rng, "a watercolour", "a watercolor", "a watercolour painting", "a watercolor painting", "watercolour", "watercolor"),
                        ("watercolour", "watercolor", "in watercolour", "watercolor painting")),
        "woodcut": (one_of(rng, "a woodcut", "a woodcut", "a woodcut print", "a woodblock print", "a linocut"), ("woodcut", "woodcut style", "woodcut print", "as a woodcut")),
    }[s.style]
    if not text:
        return name
    if rng.random() < 0.66:
        return f"{name} of {text}"
    ending = one_of(rng, *endings)
    return f"{text} {ending}" if ending.startswith(("in ", "as ")) else f"{text}, {ending}"


def _things(s):
    """The new things of a wide scene."""
    marks = {"rain": s.rain, "rainbow": s.rainbow, "colours": s.colours}
    return [name for name in (s.subject, s.style) if name != "none"] + [name for name, there in marks.items() if there]


def _about_thing(s, rng):
    """A caption about a subject or the weather, its style left out."""
    main, plain = _subject(s, rng) if s.subject != "none" else _weather(s, rng)
    k = rng.random()
    if k < 0.16:
        if s.subject in ("swans", "none"):
            return one_of(rng, plain, main)
        return one_of(rng, plain, plain, with_article(plain), main)
    adj, end = time_words(s, rng)
    colour, mood = colour_word(s, rng), mood_word(s, rng)
    monochrome = s.colour == "black and white"
    tints = [""]
    if monochrome:
        tints = [f" in {colour}", f", {colour}"]
    elif colour:
        tints = [f" in {colour} light", f" under {with_article(colour)} sky", f", {colour} {adj}", f", {colour} sky"]
    tint = one_of(rng, *tints)
    if k < 0.5:
        text = one_of(rng, f"{main} {end}{tint}", f"{main} {end}", f"{main}{tint}", main, f"{main} on {with_article(mood)} {adj}" if adj in ("morning", "evening", "night") else f"{main} {end}")
    elif k < 0.62 and s.subject != "none" and not s.rain:
        text = f"{_lead(s, rng)} with {plain if s.subject == 'swans' else with_article(plain)}"
    else:
        parts = [part for part in part_phrases(s, rng) if not ({"lake", "water", "river"} & set(part.split()) and re.search("lake|water|river", main))]
        if s.style in ("ink", "woodcut"):
            parts = [part for part in parts if not re.search("blue|green", part)]
        if s.foreground != "none":
            parts.append(front_phrase(s, rng))
        rng.shuffle(parts)
        parts = parts[: one_of(rng, 1, 1, 2, 2, 3)]
        lead = one_of(rng, f"{main} {end}{tint}", f"{main} {end}", f"{main}{tint}", f"{main}, {adj}")
        place = land_phrase(s, rng)
        if s.subject != "none" and s.land not in ("open sea", "meadow") and rng.random() < 0.4 and without_article(place).split()[-1] not in main:
            parts.insert(0, one_of(rng, place, f"{place} behind" if s.land not in ("cliffs", "islands", "desert") else place))
        text = ", ".join([lead, *parts])
    if s.rain and s.subject != "none":
        text += one_of(rng, " in the rain", ", rain")
    return text


def _wide(s, rng):
    """A caption of a wide scene: all its new things are said."""
    things = _things(s)
    for _ in range(8):
        if s.subject != "none" or s.rain or s.rainbow:
            text = _about_thing(s, rng)
        elif s.style != "none" and rng.random() < 0.03:
            text = ""
        else:
            text = _plain(s, rng)
        if s.style in ("ink", "woodcut"):
            text = text.replace("a blue sky", "a clear sky").replace("blue sky", "clear sky").replace("green trees", "trees").replace("fresh spring green", "spring")
        if s.style != "none":
            text = _in_style(s, text, rng)
        if all(re.search(SAID[thing], text) for thing in things) and len(text.split()) <= 25:
            break
    return text


def _plain(s, rng):
    k = rng.random()
    if k < 0.09:  # a word or two
        _, end = time_words(s, rng)
        colour = colour_word(s, rng)
        words = [without_article(land_phrase(s, rng)), without_article(land_phrase(s, rng))]
        adj = time_words(s, rng)[0]
        if s.time in ("sunset", "night", "dawn", "dusk"):
            words += [adj, f"{adj}, {without_article(land_phrase(s, rng))}"]
        if colour:
            words += [f"{colour} {without_article(land_phrase(s, rng))}", f"{colour} {adj}" if s.colour != "black and white" else "black and white"]
        if s.season:
            words.append(f"{s.season} landscape")
        words.append(f"{mood_word(s, rng)} {adj}")
        if s.foreground != "none":
            words.append(without_article(front_phrase(s, rng)))
        text = one_of(rng, *words)
    elif k < 0.40:
        text = _sentence(s, rng)
        if rng.random() < 0.3:
            extra = [p for p in part_phrases(s, rng) if without_article(p).split()[-1] not in text]
            if extra:
                text += ", " + one_of(rng, *extra)
    else:
        lead = _lead(s, rng)
        parts = part_phrases(s, rng)
        front = front_phrase(s, rng)
        rng.shuffle(parts)
        keep = one_of(rng, 0, 1, 1, 2, 2, 3, 4)
        if s.water == "lake" and rng.random() < 0.5:  # water is worth saying
            parts.sort(key=lambda p: not any(w in p for w in ("lake", "water", "river")))
        parts = parts[:keep]
        if front and rng.random() < 0.8:
            parts.insert(int(rng.integers(0, len(parts) + 1)), front)
        if s.colour and s.colour != "black and white" and (s.colour not in lead) and rng.random() < 0.3:
            parts.append(one_of(rng, f"{colour_word(s, rng)} tones", f"{colour_word(s, rng)} colours"))
        if k > 0.9 and parts and s.colour not in ("black and white",):
            text = ", ".join([parts[0], lead] + parts[1:])
        elif k > 0.82 and parts:
            season = {"spring": ("spring", "fresh"), "summer": ("summer", "a summer"), "autumn": ("autumn", "fall"), "winter": ("winter",)}.get(s.season, ())
            things = [p for p in parts if not p.startswith(season)] or parts[:0]
            text = f"{lead} with {' and '.join(things[:2])}" if things else ", ".join([lead] + parts)
        else:
            text = ", ".join([lead] + parts)
    return text


def caption(s, rng: np.random.Generator) -> str:
    text = _wide(s, rng) if _things(s) else _plain(s, rng)
    if rng.random() < 0.06 and s.colour != "black and white" and s.style == "none":
        text = one_of(rng, "a picture of ", "a painting of ", "an illustration of ", "a landscape with ", "a view of ") + text
    text = " ".join(text.split())
    words = text.split()
    while len(words) > 25:
        text = text.rsplit(",", 1)[0] if "," in text else " ".join(words[:25])
        words = text.split()
    if rng.random() < 0.08:
        text = text[0].upper() + text[1:]
        if rng.random() < 0.5:
            text += "."
    return text
