"""Treatments of a whole picture: ink, poster, watercolour, woodcut. Each takes a Canvas whose picture is finished and returns the picture in that style."""
import numpy as np
from PIL import Image

from layout import texture_generator
from palette import F, LUMA, mix, rgb, smooth

PAPER = rgb(246, 240, 226)


def blurred(values, radius):
    """Mean over a square of 2 * radius + 1 pixels, of [height, width] or [height, width, 3]."""
    if radius < 1:
        return values
    side = 2 * radius + 1
    for axis in (0, 1):
        pad = [(0, 0)] * values.ndim
        pad[axis] = (radius + 1, radius)
        total = np.cumsum(np.pad(values, pad, mode="edge"), axis, dtype=np.float64)
        length = values.shape[axis]
        first, last = [slice(None)] * values.ndim, [slice(None)] * values.ndim
        first[axis], last[axis] = slice(0, length), slice(side, side + length)
        values = ((total[tuple(last)] - total[tuple(first)]) / side).astype(F)
    return values


def edges(values, step):
    """How much brightness changes over `step` pixels, across and down."""
    p = np.pad(values, step, mode="edge")
    across = p[step:-step, 2 * step:] - p[step:-step, :-2 * step]
    down = p[2 * step:, step:-step] - p[:-2 * step, step:-step]
    return np.sqrt(across * across + down * down)


def stretched(brightness, middle):
    """Brightness over the whole of 0..1, its median at `middle`."""
    low, median, high = np.percentile(brightness[::3, ::3], (2, 50, 98))
    values = np.clip((brightness - low) / max(0.05, high - low), 0, 1)
    at = float(np.clip((median - low) / max(0.05, high - low), 0.1, 0.9))
    return (values ** F(np.log(middle) / np.log(at))).astype(F)


def paper_margin(c, wide):
    """1 on the picture and 0 on the paper around it, with an uneven edge."""
    x = np.minimum(c.px, c.w - c.px) / F(c.u)
    y = np.minimum(c.py, c.h - c.py) / F(c.u)
    uneven = (c.texture2("style 1", c.x, c.y, 4, 4, 3) - F(0.5)) * F(wide * 1.3)
    return smooth((np.minimum(x, y[:, None]) + uneven - F(wide * 0.5)) / F(wide * 0.4))


def moved(c, values, reach, fineness):
    """The picture with every place shifted by smooth noise of at most `reach` units."""
    shift_x = (c.texture2("style 2", c.x, c.y, fineness, fineness, 2) - F(0.5)) * F(2 * reach * c.u)
    shift_y = (c.texture2("style 3", c.x, c.y, fineness, fineness, 2) - F(0.5)) * F(2 * reach * c.u)
    ix = np.clip(np.arange(c.w) + shift_x, 0, c.w - 1).astype(np.intp)
    iy = np.clip(np.arange(c.h)[:, None] + shift_y, 0, c.h - 1).astype(np.intp)
    return values[iy, ix]


def few_colours(img, count):
    """The picture in `count` flat colours, found by k-means; drawn at twice the size, so that their borders are soft."""
    def nearest(pixels):
        return ((centres * centres).sum(1) - 2 * (pixels @ centres.T)).argmin(1)
    step = max(1, round(img.shape[0] / 40))
    sample = img[::step, ::step].reshape(-1, 3)
    order = np.argsort(sample @ LUMA)
    centres = sample[order[np.linspace(0, len(order) - 1, count).astype(np.intp)]]
    for _ in range(8):
        own = nearest(sample)
        for k in range(count):
            if (own == k).any():
                centres[k] = sample[own == k].mean(0)
    height, width = img.shape[:2]
    image = Image.fromarray((np.clip(img, 0, 1) * 255).astype(np.uint8)).resize((2 * width, 2 * height), Image.BICUBIC)
    flat = centres[nearest(np.asarray(image, F).reshape(-1, 3) / F(255))].reshape(2 * height, 2 * width, 3)
    return (flat[::2, ::2] + flat[1::2, ::2] + flat[::2, 1::2] + flat[1::2, 1::2]) / F(4)


def standing_out(c, brightness, k):
    """Brightness with the differences from a wide neighbourhood made larger."""
    return np.clip(brightness + F(k) * (brightness - blurred(brightness, int(c.u * 0.12))), 0, 1)


def saturated(img, k):
    lum = (img @ LUMA)[..., None]
    return np.clip(lum + (img - lum) * F(k), 0, 1)


def ink(c):
    """Black ink on paper: washes in a few tones, thin where it is light, and brush lines along what stands out."""
    step = max(1, round(c.u / 256))
    lum = moved(c, standing_out(c, stretched(c.img @ LUMA, 0.56), 0.9), 0.007, 9)
    wash = blurred(lum, step) + (c.texture2("style 4", c.x, c.y, 4, 6, 3) - F(0.5)) * F(0.2)
    tones = np.zeros_like(wash)
    for level, amount in ((0.74, 0.12), (0.56, 0.15), (0.40, 0.20), (0.22, 0.28)):
        below = F(level) - wash
        tones += F(amount) * smooth(below / F(0.06) + F(0.5))
        tones += F(0.09) * np.exp(-((below - F(0.015)) / F(0.018)) ** 2) * (below > 0)  # pigment gathers at a wash's edge
    dry = np.clip(F(0.45) + F(1.0) * c.texture2("style 5", c.x, c.y, 9, 22, 2), 0, 1)
    lines = smooth((edges(blurred(lum, step), step) - F(0.06)) / F(0.14)) * F(0.85) * dry
    amount = np.clip(np.maximum(tones, tones * F(0.5) + lines), 0, 0.94) * paper_margin(c, 0.055)
    return PAPER + amount[..., None] * (rgb(24, 26, 34) - PAPER)


def poster(c):
    """A few flat, strong colours in a plain frame."""
    lum = c.img @ LUMA
    wanted = mix(lum, stretched(lum, 0.5), 0.45)
    brighter = np.clip(wanted / np.maximum(lum, F(0.03)), 0.6, 2.2)[..., None]
    flat = few_colours(saturated(np.clip(c.img * brighter, 0, 1), 1.25), 7)
    flat = mix(flat, flat * flat * (3 - 2 * flat), 0.35)
    wide = max(2, round(c.u * 0.034))
    framed = np.empty_like(flat)
    framed[:] = PAPER
    framed[wide:-wide, wide:-wide] = flat[wide:-wide, wide:-wide]
    return framed


def watercolour(c):
    """Light pigments on rough paper: uneven, darker where a wash ends, with paper left around it."""
    step = max(1, round(c.u / 256))
    img = moved(c, c.img, 0.010, 10)
    img = mix(img, blurred(img, 2 * step), 0.45)
    lum = img @ LUMA
    light = stretched(lum, 0.62)
    wanted = F(0.26) + F(0.70) * light
    brighter = np.clip(wanted / np.maximum(lum, F(0.05)), 0.7, 1.7)
    img = np.clip(img * brighter[..., None], 0, 1)
    lacking = np.clip(wanted - img @ LUMA, 0, 1)[..., None]
    img = img + lacking * (1 - img)
    uneven = (c.texture2("style 6", c.x, c.y, 3.0, 3.6, 4, 0.6) - F(0.5)) * F(0.8)
    wash = light + uneven * F(0.2)
    rims = sum(np.exp(-((wash - F(level)) / F(0.014)) ** 2) for level in (0.36, 0.62)) * F(0.11)
    rims += smooth((edges(blurred(light, step), step) - F(0.06)) / F(0.2)) * F(0.4)
    grain = (texture_generator("paper").random((c.h, c.w), F) + c.texture2("style 7", c.x, c.y, 70, 70, 1) - F(1)) * F(0.05)
    pigment = np.clip(1 + uneven + rims, 0.3, 1.9)[..., None]
    paper = rgb(253, 250, 243)
    washed = np.maximum(mix(img, paper, 0.12), F(0.02)) ** pigment  # more pigment absorbs more light
    margin = paper_margin(c, 0.05)[..., None]
    return np.clip(paper + margin * (washed - paper) + grain[..., None], 0, 1)


def woodcut(c):
    """Black lines and hatching over a few flat tones on paper; in the sky the hatching runs round the sun or moon."""
    step = max(1, round(c.u / 256))
    lum = standing_out(c, stretched(c.img @ LUMA, 0.6), 0.8)
    flat = few_colours(c.img, 3)
    tone = mix(flat / np.maximum(flat.max(-1, keepdims=True), F(0.3)), PAPER, 0.45)
    bend = c.texture2("style 8", c.x, c.y, 2.2, 2.2, 2) * F(0.09) + c.texture2("style 9", c.x, c.y, 14, 14, 1) * F(0.006)
    run = c.y[:, None] + F(0.10) * c.x
    if c.s.sun or c.s.moon:
        around = np.hypot(c.x - F((c.lx - c.w / 2) / c.u), (c.y - F(c.ly / c.u))[:, None])
        run = np.where((c.py < c.hz)[:, None], around, run)
    place = (run + bend) / F(0.026)
    ridge = np.abs(place - np.floor(place) - F(0.5)) * 2  # 0 in the middle of a line .. 1 between two
    width = np.clip((F(0.68) - blurred(lum, step)) / F(0.56), 0, 1)
    hatching = np.clip((width - ridge) * F(c.u * 0.013) + F(0.5), 0, 1) * np.clip(width * 12, 0, 1)
    solid = smooth((F(0.15) - lum) / F(0.08) + F(0.5))
    lines = smooth((edges(blurred(lum, step), step) - F(0.08)) / F(0.10))
    black = np.maximum(np.maximum(hatching, solid), lines)[..., None]
    return tone + black * (rgb(22, 20, 24) - tone)


STYLES = {"ink": ink, "poster": poster, "watercolour": watercolour, "woodcut": woodcut}


def styled(c):
    return STYLES[c.s.style](c).astype(F)
