"""Lands: mountains, hills, forests, meadows, deserts, islands, cliffs and cities."""

import numpy as np

from canvas import Canvas
from layout import texture_generator
from palette import CROWNS, F, PINES, ROCK, SAND, mix, ramp_of, rgb, smooth


class Lands(Canvas):
    """A Canvas that draws the land of its scene."""

    def land(self):
        getattr(self, "land_" + self.s.land.replace(" ", "_"))()

    def soft_ridges(self, heights, freq, own, rough=2, near0=0.1, near1=0.75):
        n = len(heights)
        for k, hgt in enumerate(heights):
            near = near0 + (near1 - near0) * k / max(1, n - 1)
            top = F(self.hz) - F(self.u * hgt) * (F(0.75) + F(0.75) * self.line(f"ridge {k}", k, freq * (1 + 0.25 * k), rough, 0.4))
            if self.s.snow:
                c = self.snow_col(near, 1.0 - 0.15 * (k % 2))
                foot = self.snow_col(near, 0.45)
            else:
                c = self.col(own, near, 1.1)
                foot = self.col(own, max(0, near - 0.32), 0.85)
            self.ridge(top, c, foot, self.u * max(0.1, hgt * 0.9))

    def land_mountains(self):
        s = self.s
        back = F(self.hz) - F(self.u) * (F(0.19) + F(0.09) * self.line("back", 2, 3.2, 4))
        self.ridge(back, self.col(ROCK, 0.1), self.hor, self.u * 0.22)
        span = self.w / self.u
        n = int(np.clip(round(span * 3.2), 3, 7))
        main = n // 2  # the highest; it makes room for the light
        at = ((np.arange(n) + F(0.5)) / n - F(0.5)).astype(F)
        pos = at + F(0.2 / n) * (np.arange(n) % 2 - 0.5).astype(F)
        pos[main] -= 0.14 * self.side
        for k in (main, *(k for k in range(n) if k != main)):
            high = 0.0625 * (3 + self.form(k) + 2 * (k == main))
            high = self.snapped(min(high * self.u, self.hz * 0.75)) / self.u
            self.peak(self.snapped(self.w / 2 + pos[k] * self.w), high, 0.32 + 0.3 * (0.42 - high) / 0.22, k)
        own = PINES[s.season] if s.vegetation == "pines" else self.own
        top = F(self.hz) - F(self.u) * (F(0.05) + F(0.045) * self.line("foothills", 0, 2.2, 3))
        c = self.col(own, 0.55, 0.9)
        if s.season == "winter":
            c = mix(c, self.snow_col(0.5, 0.6), 0.75)
        if s.vegetation == "pines":
            top = top - self.treeline("far trees", 0.036, 28, sharp=2.6)
        self.ridge(top, c, mix(c, self.hor, 0.25), self.u * 0.1)

    def peak(self, cx, hgt, near, number):
        s, u = self.s, self.u
        hp = hgt * u
        slope = (1.0, 0.9, 1.1)[number % 3]
        x = (self.px - F(cx)) / F(u)
        fall = np.abs(x) * F(slope)
        prof = F(hgt) - fall + F(0.035) * self.texture1(f"peak {number}", x, 9, 3) * np.clip(fall * 9, 0, 1)
        top = F(self.hz) - F(u) * np.maximum(prof, F(-0.05))
        y0, y1 = max(0, int(top.min()) - 1), min(self.h, int(self.hz) + 2)
        cols = np.nonzero(top < self.hz + 1)[0]
        if len(cols) == 0 or y1 <= y0:
            return
        x0, x1 = int(cols[0]), int(cols[-1]) + 1
        d = self.py[y0:y1, None] - top[x0:x1]
        mask = np.clip(d + F(0.5), 0, 1)
        dy = (self.py[y0:y1] - F(self.hz - hp)) / F(u)
        spine = F(0.05) * self.texture1("spine", dy, 14, 2) * np.clip(dy * 8, 0, 1) + dy * F(0.10 * self.side)
        e = (x[x0:x1] - spine[:, None]) * F(self.side)  # light comes from `side`
        lit = smooth(e * F(70) + F(0.5))[..., None]
        shadow, bright = self.col(ROCK, near * 0.9, 0.75) , self.col(mix(ROCK, rgb(200, 190, 190), 0.35), near, 1.25)
        dark = mix(self.shade, self.mid, 0.35 + 0.3 * (1 - near))
        shadow = mix(shadow, dark, 0.45)
        colour = shadow + (bright - shadow) * lit
        if s.snow:
            depth = 0.25 if s.season == "winter" else 0.175
            jag = F(depth * hgt / 0.36) + F(0.05) * self.texture1("snow line", x[x0:x1], 14, 1)
            sm = np.clip((jag - dy[:, None]) * F(u * 0.4) + F(0.5), 0, 1)[..., None]
            sc, sd = self.snow_col(near + 0.4, 1.0), self.snow_col(near + 0.3, 0.12)
            snow = sd + (sc - sd) * lit
            colour = colour + (snow - colour) * sm
        foot = np.clip((self.py[y0:y1] - F(self.hz - hp * 0.75)) / F(hp * 0.75), 0, 1)[:, None, None] * F(0.75 * self.haze)
        colour = colour + (self.hor - colour) * foot
        self.blend(mask, colour, y0, y1, x0, x1)

    def row(self, name, size, count, least, form):
        """Height, in pixels above a ridge, of a row of small things. Each is of a height from `least` to 1, and of the form (height, distance from its middle)."""
        pos = (self.px - self.w / 2) / F(self.u) * F(count)
        out = np.zeros_like(pos)
        lattice = texture_generator(name).random(512).astype(F)
        i = np.floor(pos).astype(np.int32)
        for k in (-1, 0, 1):
            middle = i + k + F(0.25) + F(0.5) * lattice[(i + k) & 511]
            height = F(least) + F(1 - least) * lattice[(i + k + 200) & 511]
            out = np.maximum(out, form(height, pos - middle))
        return out * F(size * self.u)

    def treeline(self, name, size, count, sharp=2.2):
        """A row of pointed trees."""
        return self.row(name, size, count, 0.45, lambda height, away: height - np.abs(away) * F(sharp / 2.2))

    def crownline(self, name, size, count):
        """A row of round crowns."""
        return self.row(name, size, count, 0.6, lambda height, away: height * np.sqrt(np.maximum(1 - (away / F(0.78)) ** 2, 0)))

    def land_hills(self):
        self.soft_ridges((0.22, 0.15, 0.085), 1.5, self.own, 2, 0.12, 0.62)

    def land_forest(self):
        s = self.s
        own = PINES[s.season] if s.vegetation == "pines" else CROWNS[s.season]
        far = F(self.hz) - F(self.u) * (F(0.2) + F(0.08) * self.line("back", 2, 1.5, 3))
        self.ridge(far, self.snow_col(0.1, 0.7) if s.snow else self.col(own, 0.1), self.hor, self.u * 0.25)
        for k, (hgt, size, count, near) in enumerate(((0.12, 0.055, 18, 0.3), (0.06, 0.085, 12, 0.52), (0.0, 0.12, 8, 0.74))):
            name = f"trees {k}"
            line = self.treeline(name, size * 1.25, count) if s.vegetation == "pines" else self.crownline(name, size * 0.8, count)
            top = F(self.hz) - F(self.u) * (F(hgt) + F(0.03) * self.line(f"forest {k}", k, 2, 1)) - line
            c = self.col(own, near, 0.95)
            foot = self.col(own, max(0.0, near - 0.3), 0.8)
            if s.snow:
                c, foot = mix(c, self.snow_col(near), 0.55), mix(foot, self.snow_col(near, 0.8), 0.75)
            self.ridge(top, c, foot, self.u * (size + 0.07))

    def land_meadow(self):
        self.soft_ridges((0.13, 0.07), 1.2, self.own, 2, 0.12, 0.5)

    def land_desert(self):
        back = F(self.hz) - F(self.u) * (F(0.10) + F(0.08) * self.line("back", 2, 2.0, 3))
        self.ridge(back, self.col(mix(SAND, rgb(170, 110, 110), 0.5), 0.15), self.hor, self.u * 0.2)

    def land_open_sea(self):
        pass

    def land_islands(self):
        own = self.own
        n = int(np.clip(round(self.w / self.u * 2.4), 2, 5))
        at = ((np.arange(n) + F(0.5)) / n - F(0.5)).astype(F)
        for k in range(n):
            c = self.snapped(self.w * (0.5 + at[k] + (0.04, -0.03)[k % 2]))
            wid, hgt = (0.25, 0.2)[k % 2], 0.07 + 0.045 * self.form(k)
            q = (self.px - F(c)) / F(self.u * wid)
            near = (0.62, 0.4, 0.55)[k % 3]
            line = F(hgt) * (np.maximum(1 - q * q, 0) ** F(1.1)) * (F(1) + F(0.3) * self.texture1("island", self.x - F((c - self.w / 2) / self.u), 7, 2))
            top = np.where(np.abs(q) < 1, F(self.hz) - F(self.u) * line, F(self.hz + 2))
            cc = self.col(mix(own, ROCK, 0.35), near)
            self.ridge(top, cc, mix(cc, self.hor, 0.35), self.u * hgt)

    def land_cliffs(self):
        self.cliffs = []  # reach and line of the top, the farthest first
        for k, (reach, hgt, near) in enumerate(((0.62, 0.17, 0.25), (0.44, 0.25, 0.5), (0.27, 0.34, 0.78))):
            reach = self.snapped(self.w * (reach + 0.0625 * (self.form(k) - 1))) / self.w
            t = (self.px / F(self.w)) if self.side > 0 else 1 - self.px / F(self.w)
            # the cliff stands on the side away from the light
            plateau = F(hgt) + F(0.035) * self.texture1(f"plateau {k}", self.x, 3, 2)
            drop = smooth((F(reach) - t + F(0.012) * self.texture1("cliff", t - F(reach), 10, 2)) / F(0.055))
            top = F(self.hz) + 2 - F(self.u) * plateau * drop
            self.cliffs.append((reach, top))
            grass = self.col(mix(self.own, ROCK, 0.15), near)
            rock = self.col(mix(ROCK, rgb(188, 164, 140), 0.5), near, 0.9)
            got = self.ridge(top, rock, mix(rock, self.hor, 0.3), self.u * hgt)
            if got:
                y0, d, mask = got
                cap = np.clip((F(self.u * 0.035) * smooth((plateau * drop) / F(0.15)) - d) * F(0.5) + F(0.5), 0, 1) * mask
                self.blend(cap, grass, y0)

    def land_city(self):
        """Two rows of towers, two patches wide each, of one of three heights each; windows in rows above the horizon."""
        s = self.s
        back = F(self.hz) - F(self.u) * (F(0.07) + F(0.065) * self.line("back", 2, 1.6, 2))
        self.ridge(back, self.col(self.own if not s.snow else rgb(220, 228, 240), 0.1), self.hor, self.u * 0.12)
        dark = s.time in ("night", "dusk")
        cell, size = self.u / 32, self.u / 64
        gold = mix(rgb(255, 206, 120), ramp_of(s.colour, 0.85) if s.colour else rgb(255, 206, 120), 0.8)
        # Behind the towers of a dark city its lights lie in the air.
        if dark:
            glow = np.exp(-((self.py - F(self.hz)) / F(self.u * 0.26)) ** 2) * (self.py < self.hz)
            self.blend(np.repeat(glow[:, None] * F(0.34), self.w, 1), mix(self.hor, gold, 0.45))
        step = self.snapped(self.u / 8)
        for row, (hgt, near) in enumerate(((0.25, 0.34), (0.17, 0.66))):
            count = int(self.w / 2 // step) + 2
            c = self.col(rgb(150, 160, 176), near, 0.8)
            if dark:
                c = mix(c, self.shade, 0.35 + 0.3 * row)
            top = np.full(self.w, F(self.hz + 2))
            towers = []
            for k in range(-count, count + 1):
                middle = self.snapped(self.w / 2 + (k + 0.5 * row) * step)
                fx = (middle / self.w - 0.5) / 0.62 + 0.12 * self.side
                value = float(self.layout.profile("towers", np.array([(middle - self.w / 2) / self.u], F), 7, self.u)[0])
                storeys = hgt * (0.5 + 0.7 * np.exp(-(fx * 2.1) ** 2)) * (0.9, 0.65, 1.15)[int(np.digitize(value, (-0.33, 0.33)))]
                bh = self.snapped(storeys * self.u)
                wide = 0.5 * step * (0.75, 1.0, 0.75, 0.625)[k % 4]
                a, b = int(max(0, round(middle - wide))), int(min(self.w, round(middle + wide)))
                if b <= a:
                    continue
                top[a:b] = self.hz - bh
                kind = k % 5
                if kind == 0 and b - a > 8:
                    m = (a + b) // 2
                    top[m - max(1, int(self.u * 0.004)) : m + max(1, int(self.u * 0.004))] -= bh * 0.22
                elif kind == 2:
                    q = (b - a) // 4
                    top[a + q : b - q] -= bh * 0.1
                towers.append((k, middle, wide, bh))
            self.ridge(top, c, mix(c, self.hor, 0.3 if not dark else 0.12), self.u * hgt)
            if dark or s.mood == "stormy":
                for k, middle, wide, bh in towers:
                    across = int((2 * wide - size) // cell)
                    for j in range(int((bh - size) / cell)):
                        for i in range(across):
                            if (3 * i + 2 * j + k) % 5 != 0:
                                self.dab(middle + (i - (across - 1) / 2) * cell, self.hz - cell * (j + 0.9), size / 2, gold, 0.6 + 0.35 * near)
