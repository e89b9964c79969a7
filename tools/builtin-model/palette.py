"""Colours of times, seasons and colour words, and the smooth noise that the drawings share."""
import numpy as np

F = np.float32


def rgb(*v):
    return np.array(v, F) / F(255)


# zenith, middle, horizon, light, shade of near land; weight of the land's own colour; haze
PALETTES = {
    "dawn": (rgb(98, 132, 178), rgb(206, 182, 192), rgb(255, 212, 170), rgb(255, 232, 190), rgb(44, 52, 82), 0.40, 0.80),
    "morning": (rgb(88, 150, 206), rgb(160, 202, 226), rgb(238, 240, 224), rgb(255, 248, 220), rgb(36, 66, 70), 0.72, 0.70),
    "noon": (rgb(44, 114, 198), rgb(110, 176, 230), rgb(208, 234, 244), rgb(255, 253, 236), rgb(32, 72, 62), 0.90, 0.62),
    "sunset": (rgb(72, 64, 126), rgb(216, 104, 104), rgb(255, 186, 104), rgb(255, 226, 150), rgb(44, 24, 54), 0.26, 0.74),
    "dusk": (rgb(36, 42, 96), rgb(110, 82, 142), rgb(232, 148, 136), rgb(255, 200, 170), rgb(24, 24, 52), 0.20, 0.70),
    "night": (rgb(7, 12, 36), rgb(20, 38, 82), rgb(62, 100, 146), rgb(222, 232, 250), rgb(8, 15, 36), 0.18, 0.60),
}

# dark, middle and bright ends of each colour word's ramp
RAMPS = {
    "red": (rgb(30, 4, 12), rgb(196, 34, 40), rgb(255, 188, 150)),
    "orange": (rgb(38, 14, 8), rgb(232, 108, 24), rgb(255, 222, 160)),
    "golden": (rgb(40, 26, 8), rgb(214, 158, 40), rgb(255, 240, 180)),
    "pink": (rgb(54, 18, 48), rgb(232, 112, 160), rgb(255, 226, 228)),
    "purple": (rgb(18, 8, 40), rgb(120, 64, 176), rgb(236, 208, 250)),
    "blue": (rgb(4, 12, 40), rgb(40, 104, 204), rgb(220, 238, 255)),
    "teal": (rgb(2, 24, 30), rgb(22, 142, 146), rgb(214, 246, 236)),
    "green": (rgb(6, 24, 12), rgb(66, 150, 68), rgb(232, 250, 208)),
    "grey": (rgb(26, 28, 32), rgb(128, 132, 136), rgb(236, 238, 238)),
    "black and white": (rgb(8, 8, 8), rgb(124, 124, 124), rgb(250, 250, 250)),
}

GREENS = {
    None: rgb(86, 136, 76), "spring": rgb(132, 182, 84), "summer": rgb(66, 138, 62),
    "autumn": rgb(206, 116, 44), "winter": rgb(96, 116, 120),
}
PINES = {None: rgb(40, 86, 66), "spring": rgb(52, 104, 70), "summer": rgb(36, 90, 60), "autumn": rgb(70, 78, 48), "winter": rgb(58, 84, 92)}
CROWNS = {None: rgb(66, 120, 62), "spring": rgb(150, 190, 88), "summer": rgb(56, 122, 54), "autumn": rgb(222, 104, 36), "winter": rgb(90, 96, 104)}
GROUND = {None: rgb(128, 160, 88), "spring": rgb(158, 200, 98), "summer": rgb(120, 172, 78), "autumn": rgb(208, 156, 74), "winter": rgb(236, 242, 250)}
ROCK = rgb(112, 118, 136)
SAND = rgb(236, 184, 116)
LUMA = np.array((0.299, 0.587, 0.114), F)


def mix(a, b, t):
    return a + (b - a) * F(t)


def smooth(t):
    t = np.clip(t, 0, 1)
    return t * t * (3 - 2 * t)


def ramp_of(colour, lum):
    dark, mid, bright = RAMPS[colour]
    lum = np.asarray(lum, F)[..., None]
    return np.where(lum < 0.5, dark + (mid - dark) * (lum * 2), mid + (bright - mid) * (lum * 2 - 1)).astype(F)


def noise1(rng, x, freq, octaves=3, gain=0.5):
    """Smooth 1-D noise about 0, in -1..1; x in picture heights from the centre, so sizes agree."""
    out = np.zeros_like(x)
    amp, total = 1.0, 0.0
    for _ in range(octaves):
        lattice = rng.random(256).astype(F) * 2 - 1
        p = x * F(freq) + F(128.37)
        i = np.floor(p).astype(np.int32)
        t = p - i
        t = t * t * (3 - 2 * t)
        out += F(amp) * (lattice[i & 255] * (1 - t) + lattice[(i + 1) & 255] * t)
        total += amp
        amp *= gain
        freq *= 2.03
    return out / F(total)


def noise2(rng, x, y, fx, fy, octaves=3, gain=0.5):
    """Smooth 2-D noise in 0..1 over the grid of y by x."""
    out = np.zeros((len(y), len(x)), F)
    amp, total = 1.0, 0.0
    for _ in range(octaves):
        g = rng.random((64, 64)).astype(F)
        p, q = y * F(fy) + F(32.3), x * F(fx) + F(32.3)
        j, i = np.floor(p).astype(np.int32), np.floor(q).astype(np.int32)
        v, u = (p - j)[:, None], (q - i)[None, :]
        v, u = v * v * (3 - 2 * v), u * u * (3 - 2 * u)
        rows = g[j & 63] * (1 - v) + g[(j + 1) & 63] * v
        out += F(amp) * (rows[:, i & 63] * (1 - u) + rows[:, (i + 1) & 63] * u)
        total += amp
        amp *= gain
        fx, fy = fx * 2.1, fy * 2.1
    return out / F(total)
