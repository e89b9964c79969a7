"""The ground on which drawings are made: a picture of one palette, with brushes whose edges are soft, and what a layout says of its scene.

What the scene does not say (where the sun stands, how high a peak is ...) is taken from a Layout, which noise holds: what has edges stands at edges of patches and has one
of a few forms. Fine detail is the same in every drawing: a model learns one pattern, and could only guess at many.
"""

import numpy as np

from layout import PIXELS, Layout, texture_generator
from palette import F, GREENS, LUMA, PALETTES, mix, noise1, noise2, ramp_of, rgb


class Canvas:
    def __init__(self, scene, width, height, layout=None):
        self.s, self.w, self.h = scene, width, height
        self.u = float(min(height, width * 1.25))
        self.layout = layout or Layout.sample(np.random.default_rng(scene.seed), width, height)
        self.number = self.layout.number
        self.px = np.arange(width, dtype=F) + F(0.5)
        self.py = np.arange(height, dtype=F) + F(0.5)
        self.x = (self.px - width / 2) / F(self.u)  # centred, in units
        self.y = self.py / F(self.u)
        self.img = np.empty((height, width, 3), F)
        # One of three heights, at the edges of patches: what lies along it looks the same in each.
        self.hz = self.snapped(height * (0.5, 0.5625, 0.625)[self.layout.choice("horizon")])
        self.across = self.number("light", -1, 1)  # where the light stands, from the left to the right
        self.side = 1.0 if self.across > 0 else -1.0
        self.palette()

    def palette(self):
        s = self.s
        zen, mid, hor, light, shade, local, haze = PALETTES[s.time]
        grey = {"clear": 0.0, "cloudy": 0.25, "stormy": 0.75, "misty": 0.45}[s.mood]
        dim = {"clear": 1.0, "cloudy": 0.98, "stormy": 0.62, "misty": 1.0}[s.mood]
        if s.time == "night":
            dim = 1.0 if s.mood != "stormy" else 0.95

        def weather(c, k=1.0):
            target = np.full(3, float(c @ LUMA), F) * rgb(246, 252, 262)
            return mix(c, target, grey * k * (0.6 if s.time in ("sunset", "dusk", "dawn", "night") else 1.0)) * F(dim)

        zen, mid, hor = weather(zen), weather(mid), weather(hor, 0.7)
        if s.mood == "misty":
            zen, mid = mix(zen, hor, 0.45), mix(mid, hor, 0.6)
            haze = min(0.93, haze + 0.2)
        if s.mood == "stormy" and s.time != "night":
            zen = zen * F(0.8)
        if s.colour:
            def tint(c, k):
                bright = 1.0 if s.time != "night" or s.colour == "black and white" else 1.25  # or dark land would not stand out
                return mix(c, ramp_of(s.colour, min(1.0, bright * float(c @ LUMA))), k)
            zen, mid, hor = tint(zen, 0.85), tint(mid, 0.9), tint(hor, 0.8)
            light, shade = tint(light, 0.5), tint(shade, 0.8)
        if s.colours:
            upper, lower = s.colours
            bright = {"night": 0.72, "dusk": 0.88}.get(s.time, 1.0)
            zen, hor = ramp_of(upper, 0.42 * bright), ramp_of(lower, 0.66 * bright)
            mid = mix(ramp_of(upper, 0.54 * bright), ramp_of(lower, 0.58 * bright), 0.52)
            light, shade = mix(light, ramp_of(lower, 0.92), 0.5), ramp_of(upper, 0.1)
        self.zen, self.mid, self.hor, self.light, self.shade, self.local, self.haze = zen, mid, hor, light, shade, local, haze

    # -- what differs from drawing to drawing, and what does not ---------------------------------------------------
    def form(self, place):
        """Which of its three forms or heights the land's first, second ... line or thing has; every fourth the same as the first."""
        return self.layout.choice(f"form {place % 3}")

    def line(self, name, place, frequency, octaves=1, gain=0.5):
        """One of three smooth lines about 0 in -1..1, as the layout says for the land's line of this place."""
        return self.texture1(f"{name} {self.form(place)}", self.x, frequency, octaves, gain)

    def texture1(self, name, x, frequency, octaves=1, gain=0.5):
        return noise1(texture_generator(name), x, frequency, octaves, gain)

    def texture2(self, name, x, y, across, down, octaves=1, gain=0.5):
        return noise2(texture_generator(name), x, y, across, down, octaves, gain)

    def snapped(self, pixels):
        """The nearest edge of patches: what is small and sharp looks the same wherever it stands, and is learnt once."""
        return float(round(pixels / PIXELS) * PIXELS)

    def placed(self, far=0.14):
        """Where a thing stands across, in pixels: away from the light."""
        return self.snapped(self.w * (0.5 - self.side * (far + self.number("reach", -0.05, 0.05))))

    # -- colours ---------------------------------------------------------------------------------------------------
    def col(self, own, near, lit=1.0):
        """The colour of something of its own colour at nearness 0 (far) to 1 (near)."""
        lum = float(self.hor @ LUMA)
        own = own * mix(rgb(255, 255, 255), self.light, 0.5) * F(0.62 + 0.38 * lum)
        base = mix(self.shade, own, min(1.0, self.local * lit))
        return mix(base, self.hor, self.haze * (1 - near))

    def snow_col(self, near, lit=1.0):
        t = self.s.time
        base = {"night": rgb(150, 172, 214), "dusk": rgb(206, 192, 224), "sunset": rgb(255, 226, 214),
                "dawn": rgb(250, 232, 232), "morning": rgb(248, 250, 254), "noon": rgb(252, 254, 255)}[t]
        dark = {"night": rgb(70, 92, 142), "dusk": rgb(132, 124, 178), "sunset": rgb(186, 142, 172),
                "dawn": rgb(172, 168, 200), "morning": rgb(170, 194, 222), "noon": rgb(160, 192, 226)}[t]
        c = mix(dark, base, lit)
        return mix(c, self.hor, self.haze * max(0.0, 1 - near) * 0.22)

    @property
    def own(self):
        return GREENS[self.s.season]

    # -- brushes ---------------------------------------------------------------------------------------------------
    def blend(self, mask, colour, y0=0, y1=None, x0=0, x1=None):
        view = self.img[y0:y1, x0:x1]
        view += mask[..., None] * (colour - view)

    def box(self, cx, cy, rx, ry):
        x0, x1 = max(0, int(cx - rx - 2)), min(self.w, int(cx + rx + 3))
        y0, y1 = max(0, int(cy - ry - 2)), min(self.h, int(cy + ry + 3))
        return (x0, x1, y0, y1) if x1 > x0 and y1 > y0 else None

    def disc(self, cx, cy, r, colour, ry=None, alpha=1.0, soft=0.7):
        ry = ry or r
        b = self.box(cx, cy, r, ry)
        if not b:
            return
        x0, x1, y0, y1 = b
        dx, dy = (self.px[x0:x1] - cx) / r, (self.py[y0:y1] - cy) / ry
        d = np.sqrt(dx * dx + (dy * dy)[:, None])
        self.blend(np.clip((1 - d) * min(r, ry) / F(2 * soft) + F(0.5), 0, 1) * F(alpha), colour, y0, y1, x0, x1)

    def dab(self, cx, cy, r, colour, alpha):
        """A small soft square."""
        x0, x1, y0, y1 = int(cx - r - 1), int(cx + r + 2), int(cy - r - 1), int(cy + r + 2)
        if x0 < 0 or y0 < 0 or x1 > self.w or y1 > self.h:
            return
        mx = np.clip(r + F(0.5) - np.abs(self.px[x0:x1] - cx), 0, 1)
        my = np.clip(r + F(0.5) - np.abs(self.py[y0:y1] - cy), 0, 1)
        self.blend(my[:, None] * mx * F(alpha), colour, y0, y1, x0, x1)

    def poly(self, pts, colour, alpha=1.0):
        """A convex polygon with soft edges, its corners in order, in pixels."""
        p = np.asarray(pts, F)
        b = self.box((p[:, 0].min() + p[:, 0].max()) / 2, (p[:, 1].min() + p[:, 1].max()) / 2,
                     np.ptp(p[:, 0]) / 2, np.ptp(p[:, 1]) / 2)
        if not b:
            return
        x0, x1, y0, y1 = b
        q = np.roll(p, -1, 0)
        area = np.sum(p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1])
        sign = 1.0 if area > 0 else -1.0
        d = None
        for a, c in zip(p, q):
            ex, ey = c - a
            n = float(np.hypot(ex, ey)) or 1.0
            e = ((self.py[y0:y1] - a[1])[:, None] * ex - (self.px[x0:x1] - a[0]) * ey) * F(sign / n)
            d = e if d is None else np.minimum(d, e)
        self.blend(np.clip(d + F(0.5), 0, 1) * F(alpha), colour, y0, y1, x0, x1)

    def ridge(self, top, colour, foot=None, depth=None):
        """Land below the line `top` (pixel heights per column), to the bottom, fading to `foot` over `depth` pixels."""
        y0 = max(0, int(top.min()) - 1)
        if y0 >= self.h:
            return None
        d = self.py[y0:, None] - top
        mask = np.clip(d + F(0.5), 0, 1)
        if foot is None:
            self.blend(mask, colour, y0)
        else:
            t = np.clip(d / F(depth), 0, 1)[..., None]
            self.blend(mask, colour + t * (foot - colour), y0)
        return y0, d, mask

    def pine(self, cx, base, hgt, colour, snow=None, lit=None):
        b = self.box(cx, base - hgt / 2, hgt * 0.3, hgt / 2)
        if not b:
            return
        x0, x1, y0, y1 = b
        t = (self.py[y0:y1] - F(base - hgt)) / F(hgt)
        tiers = 4.0
        saw = t * tiers - np.floor(t * tiers)
        wid = F(hgt * 0.27) * np.clip(t, 0, 1) * (F(0.56) + F(0.44) * saw)
        wid = np.where(t > 0.93, F(hgt * 0.025), wid)
        wid = np.where((t < 0) | (t > 1), F(-1), wid)[:, None]
        dx = self.px[x0:x1] - F(cx)
        mask = np.clip(wid - np.abs(dx) + F(0.5), 0, 1)
        if lit is not None:
            side = np.clip(F(0.5) + dx * F(self.side) / F(hgt * 0.2), 0, 1)[None, :, None]
            colour = colour + (lit - colour) * side
        self.blend(mask, colour, y0, y1, x0, x1)
        if snow is not None:
            sm = mask * np.clip((1 - saw * F(1.5)), 0, 1)[:, None] * (t < 0.92)[:, None]
            self.blend(sm * F(0.9), snow, y0, y1, x0, x1)

    def round_tree(self, cx, base, hgt, colour, lit):
        """A trunk and a crown of one round form with a lit side."""
        trunk = mix(self.shade, colour, 0.2)
        self.poly([(cx - hgt * 0.05, base), (cx - hgt * 0.03, base - hgt * 0.55), (cx + hgt * 0.03, base - hgt * 0.55), (cx + hgt * 0.05, base)], trunk)
        self.disc(cx, base - 0.66 * hgt, 0.33 * hgt, colour, ry=0.31 * hgt)
        self.disc(cx + 0.1 * self.side * hgt, base - 0.74 * hgt, 0.2 * hgt, lit, alpha=0.6, soft=0.07 * hgt)
