"""Simple statistics of a picture, and which attributes they say it has.

`measure` gives named numbers; `ATTRIBUTES` maps each attribute to its values and `holds(picture, value)`. Each value is judged by
one weighted sum of a few named statistics; the weights stand in `measure_weights.json`, fitted by `fit_measure.py` on the
generator's own pictures and tested in `test_measure.py` on others.
"""
import json
import pathlib

import numpy as np
from PIL import Image

from palette import LUMA, RAMPS, ramp_of

SIDE = 64
COLOURS = ("red", "orange", "golden", "pink", "purple", "blue", "teal", "green", "grey")
VALUES = {
    "time": ("night", "noon/day", "sunset"),
    "colour": COLOURS,
    "water": ("sea", "lake", "none"),
    "snow": ("snow", "no snow"),
    "light": ("sun or moon", "no sun or moon"),
}
_RAMPS = {c: ramp_of(c, np.linspace(0, 1, 256)) for c in RAMPS}


def _small(picture, size):
    return np.asarray(Image.fromarray(np.asarray(picture, np.uint8)).resize(size, Image.BOX), np.float32) / 255


def _hsv(p):
    top, low = p.max(-1), p.min(-1)
    span = top - low
    safe = np.where(span > 1e-4, span, 1)
    r, g, b = p[..., 0], p[..., 1], p[..., 2]
    hue = np.where(top == r, (g - b) / safe % 6, np.where(top == g, (b - r) / safe + 2, (r - g) / safe + 4)) / 6
    return hue, span / np.maximum(top, 1e-3), span


def _disc(picture):
    """How much brighter than its surroundings the most disc-like bright spot of the upper part is."""
    h, w = np.asarray(picture).shape[:2]
    k = 80 / min(h, w * 1.25)
    p = _small(picture, (max(8, round(w * k)), max(8, round(h * k))))
    p = p[: int(p.shape[0] * 0.62)] @ LUMA
    best = [(-1.0, 0.0)]
    for r in (3.4, 4.4, 5.4):
        pad = 10
        q = np.pad(p, pad, mode="edge")

        def at(dx, dy):
            return q[pad + dy: pad + dy + p.shape[0], pad + dx: pad + dx + p.shape[1]]
        angle = np.arange(12) * (np.pi / 6)
        inner = np.stack([at(0, 0)] + [at(round(0.62 * r * np.cos(a)), round(0.62 * r * np.sin(a))) for a in angle])
        ring = np.sort(np.stack([at(round(1.65 * r * np.cos(a)), round(1.65 * r * np.sin(a))) for a in angle]), 0)
        low = inner.min(0)
        score = low - ring[9]
        edge = int(r * 1.0)
        score[:edge] = score[:, :edge] = score[:, -edge:] = -1
        i = int(score.argmax())
        best.append((float(score.flat[i]), float(low.flat[i])))
    return max(best)


def _blobs(picture):
    """The count of small bright points (stars, lit windows)."""
    g = _small(picture, (128, 128)) @ LUMA
    c = g[1:-1, 1:-1]
    peak = np.ones_like(c, bool)
    for dy in (0, 1, 2):
        for dx in (0, 1, 2):
            if (dy, dx) != (1, 1):
                peak &= c >= g[dy:dy + 126, dx:dx + 126]
    around = np.pad(g, 2, mode="edge")
    ring = np.stack([around[3 + dy:3 + dy + 126, 3 + dx:3 + dx + 126] for dy, dx in ((-3, 0), (3, 0), (0, -3), (0, 3), (-2, -2), (2, 2), (-2, 2), (2, -2))])
    peak &= c - ring.mean(0) > 0.08
    return float(peak[:63].sum()), float(peak[63:].sum())


def _mirror(p):
    """How well the part below the best horizon mirrors what is above, and where that horizon is."""
    g = p @ LUMA
    best = (-1.0, 0.0, 0.5)
    for h in range(int(SIDE * 0.46), int(SIDE * 0.66)):
        n = min(SIDE - h, h, 16)
        up, down = g[h - n:h][::-1], g[h:h + n]
        if n < 10:
            continue
        a, b = up - up.mean(1, keepdims=True), down - down.mean(1, keepdims=True)
        amp = np.sqrt((a * a).sum() * (b * b).sum())
        c = float((a * b).sum() / (amp + 0.12))
        if c > best[0]:
            best = (c, float(a.std()), h / SIDE)
    return best


def _reflection(p):
    """How the colours below a horizon follow those above it: drawings have theirs at one of three heights, and water shows 0.92 of what is above it (draw.py)."""
    found, rows = [], np.arange(16)
    near = np.exp(-rows / 8)[:, None, None]
    for horizon in (SIDE // 2, SIDE * 9 // 16, SIDE * 5 // 8):
        above = horizon - 0.5 - 0.92 * (rows + 0.5)
        first = np.floor(above).astype(int)
        part = (above - first)[:, None, None]
        up = p[first] * (1 - part) + p[np.minimum(first + 1, horizon - 1)] * part
        down = p[horizon : horizon + len(rows)]
        a, b = up - up.mean(1, keepdims=True), down - down.mean(1, keepdims=True)
        aa, bb, ab = (float((near * x * y).sum()) for x, y in ((a, a), (b, b), (a, b)))
        u, d = (x - x.mean(0) for x in (p[horizon - 12 : horizon][::-1].mean(1), p[horizon : horizon + 12].mean(1)))
        edge = np.abs(p[horizon] - p[horizon - 1])
        found.append(
            {
                "reflection": ab / (np.sqrt(aa * bb) + 0.05),
                "reflection_share": ab / (aa + 0.05),
                "reflected_detail": float(np.log(aa + 0.01)),
                "detail_below": float(np.log(bb + 0.01)),
                "reflection_of_rows": float((u * d).sum() / (np.sqrt((u * u).sum() * (d * d).sum()) + 0.02)),
                "shore": float(edge.mean()),
                "shore_even": float(np.percentile(edge.sum(-1), 20)),
            }
        )
    best = max(found, key=lambda it: it["reflection"])
    return best | {name: max(it[name] for it in found) for name in ("reflection_of_rows", "shore", "shore_even")}


def measure(picture):
    """Named statistics of a picture (uint8, any size)."""
    p = _small(picture, (SIDE, SIDE))
    g = p @ LUMA
    hue, sat, span = _hsv(p)
    m = {"luminance": float(g.mean()), "contrast": float(g.std()), "saturation": float(sat.mean()), "chroma": float(span.mean()),
         "dark": float(np.percentile(g, 5)), "bright": float(np.percentile(g, 95)), "median": float(np.median(g)),
         "warmth": float((p[..., 0] - p[..., 2]).mean())}
    regions = {"sky": p[:14], "upper": p[:21], "horizon": p[26:38], "lower": p[43:], "foot": p[56:]}
    for name, part in regions.items():
        c = part.reshape(-1, 3).mean(0)
        m.update({f"{name}_r": float(c[0]), f"{name}_g": float(c[1]), f"{name}_b": float(c[2]),
                  f"{name}_luminance": float(c @ LUMA), f"{name}_warmth": float(c[0] - c[2]),
                  f"{name}_green": float(c[1] - (c[0] + c[2]) / 2)})
    weight = span.ravel()
    hist = np.bincount(np.minimum((hue.ravel() * 12).astype(int), 11), weight, 12) / max(1e-3, weight.sum())
    for k in range(12):
        m[f"hue_{k * 30:03d}"] = float(hist[k])
    for name, table in _RAMPS.items():
        near = table[np.clip(g * 255, 0, 255).astype(np.uint8)]
        m["off_" + name.replace(" ", "_")] = float(np.abs(p - near).mean())
    # snow: near-white, lighter than the sky, in the land's part
    land, pale = g[16:], 1 - sat[16:]
    skyl = float(np.median(g[:20]))
    hor = float(np.percentile(g[14:36], 60))
    m["white_land"] = float(((land > 0.78) & (pale > 0.78)).mean())
    m["white_middle"] = float(((g[10:36] > 0.8) & (sat[10:36] < 0.2)).mean())
    m["above_sky"] = float((land > skyl + 0.12).mean())
    m["above_sky_far"] = float((land > skyl + 0.3).mean())
    m["above_sky_middle"] = float((g[12:38] > skyl + 0.12).mean())
    m["foot_less_sky"] = float(np.median(g[42:]) - skyl)
    m["foot_less_horizon"] = float(np.median(g[42:]) - hor)
    m["foot_bright"] = float(np.percentile(g[40:], 90))
    m["foot_bright_less_horizon"] = float(np.percentile(g[40:], 90) - np.percentile(g[26:38], 90))
    m["pale_foot"] = float((pale[26:] * land[26:]).mean())
    m["corner_less_foot"] = float((g[60:, :6].mean() + g[60:, -6:].mean()) / 2 - np.median(g[44:58]))
    # caps: lighter than the sky above them and than the rock below
    q = g[6:46]
    above = np.minimum(np.minimum(q[2:-14], q[1:-15]), q[:-16])
    here = q[5:-11]
    below = np.minimum(np.minimum(q[10:-6], q[12:-4]), np.minimum(q[14:-2], q[16:]))
    cap = np.minimum(here - above, here - below)
    top = np.clip(cap.max(0), 0, 1)
    m["cap"] = float(top.mean())
    m["cap_columns"] = float((top > 0.05).mean())
    m["cap_high"] = float(np.sort(top)[-8:].mean())
    m["cap_far"] = float((top > 0.15).mean())
    below_horizon = g[40:]
    m["above_horizon_low"] = float((below_horizon > hor + 0.03).mean())
    m["even_foot"] = float(below_horizon.std())
    dx, dy = np.abs(np.diff(g, axis=1)), np.abs(np.diff(g, axis=0))
    for name, a, b in (("middle", 14, 36), ("lower", 42, 62), ("near", 36, 46)):
        m[f"across_{name}"] = float(dx[a:b].mean())
        m[f"down_{name}"] = float(dy[a:b].mean())
        m[f"streak_{name}"] = float(np.log((dy[a:b].mean() + 0.002) / (dx[a:b].mean() + 0.002)))
    m["bands_lower"] = float(np.abs(np.diff(np.median(g[40:], axis=1), 2)).mean())
    rows = np.median(dy[28:44], axis=1)
    m["horizon_edge"] = float(rows.max())
    m["horizon_whole"] = float((dy[28:44] > 0.02).mean(1).max())
    m["horizon_straight"] = float(np.percentile(dy[28:44], 30, axis=1).max())
    m["mirror"], m["mirror_detail"], m["mirror_at"] = _mirror(p)
    m.update(_reflection(p))
    m["disc"], m["disc_light"] = _disc(picture)
    a, b = _blobs(picture)
    m["points_upper"], m["points_lower"] = float(np.log1p(a)), float(np.log1p(b))
    return m


def _weights():
    path = pathlib.Path(__file__).with_name("measure_weights.json")
    return json.loads(path.read_text()) if path.exists() else {}


WEIGHTS = _weights()


def score(stats, attribute, value):
    """Above 0 where the statistics say that the attribute has the value."""
    w = WEIGHTS[f"{attribute}={value}"]
    return w["bias"] + sum(k * stats[name] for name, k in w["of"].items())


def _holds(attribute):
    def holds(picture, value):
        stats = picture if isinstance(picture, dict) else measure(picture)
        return score(stats, attribute, value) > 0
    return holds


ATTRIBUTES = {name: (list(values), _holds(name)) for name, values in VALUES.items()}


def truth(scene, attribute):
    """The value a scene has, as ATTRIBUTES names it; None where it has none of them."""
    if attribute == "time":
        return {"night": "night", "noon": "noon/day", "morning": "noon/day"}.get(scene.time, "sunset")
    if attribute == "colour":
        return scene.colour
    if attribute == "water":
        return scene.water
    if attribute == "snow":
        return "snow" if scene.snow else "no snow"
    return "sun or moon" if scene.sun or scene.moon else "no sun or moon"
