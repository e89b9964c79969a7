"""Draws a Scene as a picture: layered, soft, and in one palette."""

import numpy as np

from lands import Lands
from layout import texture_generator
from palette import CROWNS, F, GROUND, LUMA, PINES, SAND, mix, ramp_of, rgb, smooth
from styles import styled
from subjects import BEFORE_WATER, ON_GROUND, draw_rain, draw_rainbow


class Drawing(Lands):
    """A scene's picture, drawn from the back to the front."""

    # -- sky -------------------------------------------------------------------------------------------------------
    def sky(self):
        s = self.s
        t = np.clip(self.py / F(self.hz), 0, 1)
        stops = np.array((0.0, 0.55, 1.0), F)
        grad = np.stack([np.interp(t, stops, (self.zen[c], self.mid[c], self.hor[c])) for c in range(3)], -1).astype(F)
        n = max(3, int(self.h * 0.08)) | 1  # no kink where two colours meet
        pad = np.pad(grad, ((n // 2, n // 2), (0, 0)), mode="edge")
        grad = np.stack([np.convolve(pad[:, c], np.ones(n) / n, "valid") for c in range(3)], -1).astype(F)
        self.img[:] = grad[:, None, :]

        # where the light stands
        self.lx = self.snapped(self.w * (0.5 + 0.07 * self.side + 0.23 * self.across))
        self.lr = self.u * 0.064
        up = {"dawn": 0.80, "sunset": 0.76, "dusk": 0.9, "morning": 0.50, "noon": 0.26, "night": 0.34}[s.time]
        room = 0.0
        if up > 0.4:  # what stands before the sun leaves it in sight
            room = {"mountains": 0.40, "hills": 0.28, "city": 0.34, "forest": 0.26, "islands": 0.16, "desert": 0.14, "meadow": 0.16}.get(s.land, 0.0)
            room += 0.06 if s.mood == "misty" else 0.0
            if up < 0.6:
                room = min(room, 0.2)
        self.ly = self.snapped(max(self.lr * 2.2, self.hz * (up - room)))
        glow_x, glow_y = self.lx, self.ly if (s.sun or s.moon) else self.hz
        dx, dy = (self.px - F(glow_x)) / F(self.u), (self.py - F(glow_y)) / F(self.u)
        d2 = dx * dx + (dy * dy)[:, None]
        power = {"dawn": 0.55, "sunset": 0.62, "dusk": 0.35, "morning": 0.4, "noon": 0.3, "night": 0.34}[s.time]
        power *= {"clear": 1, "cloudy": 0.8, "stormy": 0.25, "misty": 0.75}[s.mood]
        if s.time == "night" and not s.moon:
            power *= 0.7
        self.halo = (F(power) * (F(0.55) / (1 + d2 * 22) + F(0.45) * np.exp(d2 * F(-9)))).astype(F)
        if s.stars:
            self.draw_stars()
        if s.aurora:
            self.draw_aurora()
        self.blend(self.halo, self.light)
        if s.mood in ("cloudy", "stormy"):
            self.clouds()
        elif s.mood == "clear" and s.time != "night" and s.wisps:
            self.clouds(wisps=min(1.0, 1.8 * self.number("wisps")))
        if s.sun or s.moon:
            lr = self.lr
            rx = self.box(self.lx, self.ly, lr * 3, lr * 3)
            x0, x1, y0, y1 = rx
            q = (dx[x0:x1] ** 2 + (dy[y0:y1] ** 2)[:, None]) * F((self.u / lr) ** 2)
            self.blend(np.exp(q * F(-0.55)) * F(0.42), self.light, y0, y1, x0, x1)
            core = mix(self.light, rgb(255, 255, 250), 0.72)
            self.disc(self.lx, self.ly, lr, core)
            if s.moon:
                sh = mix(core, self.mid, 0.16)
                for ox, oy, rr in ((-0.3, -0.2, 0.3), (0.25, 0.3, 0.22), (0.3, -0.35, 0.16)):
                    self.disc(self.lx + ox * lr, self.ly + oy * lr, rr * lr, sh, alpha=0.6, soft=1.5)

    def draw_stars(self):
        """One place for a star in each square of a sixteenth of the height; the layout says how bright it is."""
        side = 1 / 16
        columns, rows = (int(np.ceil(edge / self.u / side)) for edge in (self.w, self.hz * 0.96))
        middle = columns / 2
        x, y = (np.arange(columns, dtype=F) + F(0.5) - F(middle)) * F(side), (np.arange(rows, dtype=F) + F(0.5)) * F(side)
        bright = self.layout.field("stars", x, y, 12, 12, self.u)
        off = texture_generator("stars").uniform(0.2, 0.8, (64, 64, 2))
        for row in range(rows):
            for column in range(columns):
                light = min(1.0, 2.6 * (float(bright[row, column]) - 0.62))
                if light <= 0:
                    continue
                across, down = off[row % 64, int(column - middle) % 64]
                cx, cy = self.w / 2 + (column - middle + across) * side * self.u, (row + down) * side * self.u
                self.disc(cx, cy, self.u * (0.0042 + 0.0036 * light), mix(self.light, rgb(255, 255, 255), 0.4), alpha=0.5 + 0.5 * light, soft=0.6)

    def draw_aurora(self):
        h1 = int(self.hz)
        c = {"purple": rgb(190, 110, 255), "blue": rgb(90, 170, 255), "teal": rgb(70, 240, 214)}.get(self.s.colour, rgb(90, 245, 150))
        for base, amp, shift in ((0.55, 0.9, 0.0), (0.36, 1.0, 0.35)):
            low = (F(base) + F(0.16) * self.layout.profile("aurora", self.x + F(shift), 1.3, self.u)) * F(self.hz)
            d = (low - self.py[:h1, None]) / F(self.hz)
            fold = F(0.72) + F(0.28) * self.texture1("aurora folds", self.x, 9, 1)
            m = np.where(d < 0, np.exp(-(d / F(0.03)) ** 2), np.exp(d * F(-3.6))) * fold * F(amp * 0.86)
            self.blend(m, c, 0, h1)

    def clouds(self, wisps=0.0):
        """Clouds of the mood, or, on a clear day, `wisps` of them."""
        s = self.s
        h1 = int(self.hz)
        y = self.y[:h1]
        near = np.clip(self.py[:h1] / F(self.hz), 0, 1)
        coarse = self.layout.field("clouds", self.x, y, 1.5, 4.4, self.u)
        fine = self.layout.field("cloud detail", self.x, y, 3.4, 9.5, self.u)
        # Means of even values lie nearer to the middle, as those of several octaves of noise do.
        n = F(0.5) + F(0.66) * (coarse - F(0.5)) + F(0.26) * (fine - F(0.5)) + F(0.10) * (self.texture2("clouds", self.x, y, 7.5, 23, 1) - F(0.5))
        if wisps:
            m = smooth((n - 0.56) / 0.26) * F(0.42 * wisps)
        elif s.mood == "stormy":
            m = smooth((n - 0.28) / 0.4) * F(0.9)
        else:
            m = smooth((n - 0.42) / 0.24) * F(0.85)
        m *= (F(1.0) - F(0.55) * near ** 3)[:, None]
        lit = smooth((n - 0.45) / 0.4)[..., None]
        halo = np.clip(self.halo[:h1] * F(1.5), 0, 1)[..., None]
        if s.mood == "stormy":
            top, under = mix(self.mid, self.zen, 0.3), self.zen * F(0.55)
            colour = top + (under - top) * lit
        elif s.time == "night":
            colour = mix(self.mid, self.hor, 0.5) * (F(0.75) + F(0.35) * (1 - lit))
        elif s.time in ("sunset", "dusk", "dawn"):
            warm, cool = mix(self.hor, self.light, 0.35), mix(self.zen, self.mid, 0.45)
            if not s.colour:
                warm = mix(warm, rgb(255, 176, 168) * F(0.75 if s.time == "dusk" else 1.0), 0.5)
            colour = warm + (cool - warm) * (lit * F(0.85))
        else:
            top, under = mix(self.hor, rgb(255, 255, 255), 0.75 if not s.colour else 0.4), mix(self.mid, self.hor, 0.55)
            colour = top + (under - top) * (lit * F(0.55))
        colour = colour + (self.light - colour) * (halo * F(0.6))
        self.blend(m, colour, 0, h1)

    # -- below the horizon -----------------------------------------------------------------------------------------
    def water(self):
        s = self.s
        h0 = int(self.hz)
        y = self.py[h0:]
        depth = ((y - h0) / F(self.h - h0)).astype(F)  # 0 at the horizon .. 1 near
        src = h0 - (y - h0) * F(0.92)
        calm = s.water == "lake" and s.mood != "stormy"
        amp = (0.006 if calm else 0.016) * self.u
        persp = (F(0.25) + depth)
        wob = self.texture2("waves", self.x, np.log(depth + F(0.12)), 5 if calm else 7, 9, 2) - F(0.5)
        iy = np.clip(src[:, None] + wob * (F(2.6 * amp) * persp)[:, None], 0, h0 - 1).astype(np.intp)
        ix = np.clip(np.arange(self.w) + wob * (F(1.4 * amp) * persp)[:, None], 0, self.w - 1).astype(np.intp)
        mirror = self.img[iy, ix]
        deep = mix(mix(self.zen, self.shade, 0.35), self.mid, 0.25)
        if s.time in ("noon", "morning") and not s.colour:
            deep = mix(deep, rgb(24, 112, 140), 0.5)
        k = (F(0.14 if calm else 0.30) + F(0.42) * depth)[:, None, None]
        mirror += k * (deep - mirror)
        # long soft bands of light
        band = self.texture2("bands", self.x, np.log(depth + F(0.08)), 1.6, 8 if calm else 12, 2)
        shine = smooth((band - 0.52) / 0.22) * (F(0.30 if calm else 0.36) * (1 - F(0.5) * depth))[:, None]
        mirror += shine[..., None] * (mix(self.hor, self.mid, 0.3) - mirror)
        if s.sun or s.moon:
            wide = (F(self.lr) * (F(0.8) + F(1.9) * depth))[:, None]
            q = (self.px - F(self.lx)) / wide
            road = np.exp(-q * q) * smooth((wob + F(0.62)) / F(0.5)) * (F(0.85) * (1 - F(0.35) * depth))[:, None]
            mirror += np.clip(road, 0, 1)[..., None] * (self.light - mirror)
        edge = np.exp(-((y - h0) / F(self.u * 0.012)) ** 2)[:, None, None] * F(0.35)
        mirror += edge * (mix(self.hor, self.light, 0.3) - mirror)
        self.img[h0:] = mirror

    def ground(self):
        """Two or three near ridges instead of water."""
        s, u = self.s, self.u
        below = self.h - self.hz
        if s.land == "desert":
            for k, at in enumerate((0.02, 0.24, 0.52)):
                near = 0.42 + 0.26 * k
                crest = self.line(f"dune {k}", k, 1.3 - 0.15 * k, 2, 0.16)
                top = F(self.hz + below * at) - F(u * (0.10 + 0.025 * k)) * crest
                c = self.col(SAND, near, 1.15)
                dk = mix(self.col(rgb(186, 112, 78), near, 0.9), self.shade, 0.30)
                got = self.ridge(top, c, mix(c, self.col(rgb(214, 140, 90), near, 0.9), 0.5), u * 0.3)
                if got:
                    y0, d, mask = got
                    # the lee face, in shade: below the crest where the dune falls away from the light
                    lee = smooth(-np.gradient(crest, self.x[1] - self.x[0]) * F(self.side) * F(0.34) + F(0.2))
                    fade = np.exp(-np.maximum(d, 0) / (F(u * (0.10 + 0.05 * k)) * (lee + F(0.05))))
                    self.blend(mask * fade * (lee * F(0.95)), dk, y0)
            self.pool()
            return
        for k, at in enumerate((0.0, 0.30, 0.62)):
            near = (0.5 if s.snow else 0.64) + 0.15 * k
            top = F(self.hz + below * at) - F(u * (0.012 + 0.03 * k)) * (1 + self.line(f"ground {k}", k, 1.1, 2, 0.4))
            if s.season == "winter" and s.snow:
                c, foot = self.snow_col(near + 0.2, 1.0 - 0.05 * k), self.snow_col(near + 0.2, 0.72)
            else:
                own = GROUND[s.season]
                own = mix(own, self.own, 0.25 * k)
                c, foot = self.col(own, near, 1.1), mix(self.col(own, near, 0.8), self.shade, 0.12 + 0.1 * k)
            self.ridge(top, c, foot, u * 0.3)
        self.pool()
        if s.vegetation == "flowers":
            self.flowers()

    def pool(self):
        """Light lying on the ground below the sun or moon."""
        if self.s.sun or self.s.moon:
            h0 = int(self.hz)
            q = (self.px - F(self.lx)) / F(self.u * 0.42)
            t = (self.py[h0:] - F(self.hz)) / F(self.h - self.hz)
            fall = np.clip(t * 6, 0, 1) * np.exp(-t * F(1.6))
            self.blend(fall[:, None] * np.exp(-q * q) * F(0.20), self.light, h0)

    def flowers(self):
        r = texture_generator("flowers")
        u = self.u
        colours = (rgb(250, 96, 110), rgb(250, 160, 200), rgb(255, 214, 70), rgb(190, 120, 230), rgb(255, 250, 240))
        n = 110
        t = np.sort(r.random(n) ** 0.8)
        xs = r.uniform(-1.1, 1.1, n)
        pick = r.integers(0, len(colours), n)
        lum = float(np.clip(0.45 + self.local, 0, 1))
        for q, x, p in zip(t, xs, pick):
            cx, cy = self.w / 2 + x * u, self.h * (0.66 + 0.32 * q)
            if 0 < cx < self.w and cy > self.hz + u * 0.05:
                c = mix(self.shade, colours[p], lum)
                rr = u * (0.0065 + 0.013 * q)
                self.disc(cx, cy, rr, c, ry=rr * 0.8, alpha=0.92)

    # -- things ----------------------------------------------------------------------------------------------------
    def plants(self):
        """Trees standing near, at the sides, so the middle stays open."""
        s, u = self.s, self.u
        if s.vegetation not in ("pines", "trees"):
            if s.water == "lake" and s.season == "winter":
                self.bank(0.06)
            return
        over = s.water != "none"
        own = (PINES if s.vegetation == "pines" else CROWNS)[s.season]
        base_col = mix(self.col(own, 0.95, 0.75), self.shade, 0.3)
        lit = self.col(mix(own, rgb(255, 240, 180), 0.22), 0.95, 1.3)
        snow = self.snow_col(0.9, 0.9) if s.season == "winter" else None
        if over:
            self.bank(0.055)
        trees = []
        spread = 0.22 if s.subject == "none" else 0.10  # subjects stand in the middle
        where = self.number("trees")  # on one side or on both
        for side in (-1, 1)[where > 0.7 : 1 + (where > 0.3)]:
            for place, q in ((0.12, 1.0), (0.52, 0.78), (0.92, 0.6)) if s.vegetation == "pines" else ((0.12, 1.0), (1.06, 0.7)):
                edge = place * spread * min(self.w, u * 1.3)
                trees.append((q, edge if side < 0 else self.w - edge))
        for q, cx in sorted(trees):
            base = self.h - u * 0.035 * (2 - q) if over else self.snapped(self.hz + (self.h - self.hz) * (0.25 + 0.55 * q))
            hgt = u * (0.2 + 0.17 * q)
            c = mix(base_col, self.hor, 0.25 * (1 - q))
            if s.vegetation == "pines":
                self.pine(cx, base, hgt, c, snow, lit)
            else:
                self.round_tree(cx, base, hgt * 0.85, c, lit)

    def bank(self, tall):
        s, u = self.s, self.u
        t = np.abs(self.px / F(self.w) - F(0.5)) * 2
        top = F(self.h) - F(u) * (F(tall) * (F(0.15) + F(1.5) * t * t) + F(0.012) * self.texture1("bank", self.x, 3, 2))
        if s.season == "winter":
            c = self.snow_col(1, 0.9)
        else:
            c = mix(self.col(GROUND[s.season], 0.95, 0.8), self.shade, 0.3)
        self.ridge(top, c, mix(c, self.shade, 0.3), u * 0.15)

    def foreground(self):
        s = self.s
        if s.foreground != "none":
            getattr(self, "front_" + s.foreground.replace(" ", "_"))()

    def front_boat(self):
        u = self.u
        cx = self.placed()
        y = self.snapped(self.hz + (self.h - self.hz) * 0.38)
        k = u * 1.25
        hull = mix(self.shade, rgb(120, 60, 44), self.local * 0.7)
        sail = mix(self.light, rgb(255, 255, 255), 0.5) if self.s.time != "night" else mix(self.hor, self.light, 0.55)
        dim = mix(sail, self.mid, 0.35)
        # reflection first
        self.poly([(cx - 0.006 * k, y + 0.02 * k), (cx - 0.006 * k, y + 0.16 * k), (cx - 0.07 * k, y + 0.02 * k)], sail, 0.28)
        self.poly([(cx - 0.1 * k, y + 0.012 * k), (cx + 0.1 * k, y + 0.012 * k), (cx + 0.07 * k, y + 0.05 * k), (cx - 0.07 * k, y + 0.05 * k)], hull, 0.4)
        self.poly([(cx + 0.004 * k, y - 0.03 * k), (cx + 0.004 * k, y - 0.225 * k), (cx + 0.085 * k, y - 0.03 * k)], mix(dim, sail, 0.5 + 0.5 * self.side))
        self.poly([(cx - 0.01 * k, y - 0.03 * k), (cx - 0.01 * k, y - 0.20 * k), (cx - 0.075 * k, y - 0.03 * k)], mix(sail, dim, 0.5 + 0.5 * self.side))
        self.poly([(cx - 0.105 * k, y - 0.022 * k), (cx + 0.105 * k, y - 0.022 * k), (cx + 0.07 * k, y + 0.02 * k), (cx - 0.075 * k, y + 0.02 * k)], hull)
        self.poly([(cx - 0.004 * k, y - 0.02 * k), (cx - 0.004 * k, y - 0.24 * k), (cx + 0.003 * k, y - 0.24 * k), (cx + 0.003 * k, y - 0.02 * k)], hull)

    def front_cabin(self):
        s, u = self.s, self.u
        cx = self.placed()
        if s.water != "none":
            y = self.h - u * 0.045
            t = (self.px - F(cx)) / F(u * 0.3)
            top = F(self.h) - F(u * 0.085) * np.exp(-t * t * F(1.5)) + F(u * 0.01)
            c = self.snow_col(1, 0.9) if s.season == "winter" else mix(self.col(GROUND[s.season], 0.95, 0.8), self.shade, 0.3)
            self.ridge(top, c, mix(c, self.shade, 0.3), u * 0.15)
        else:
            y = self.snapped(self.hz + (self.h - self.hz) * 0.56)
        k = u * 1.2
        wall = mix(self.shade, rgb(150, 92, 62), 0.25 + self.local * 0.65)
        side = mix(wall, self.shade, 0.5)
        roof = mix(self.shade, rgb(110, 50, 48), 0.15 + self.local * 0.6)
        if s.season == "winter":
            roof = mix(self.snow_col(1, 0.45), self.mid, 0.12)
        a, b, hh = cx - 0.10 * k, cx + 0.10 * k, 0.075 * k
        self.poly([(a, y), (a, y - hh), (b, y - hh), (b, y)], wall)
        gx = cx + 0.045 * k
        self.poly([(gx, y), (gx, y - hh), (b, y - hh), (b, y)], side)
        self.poly([(gx - 0.012 * k, y - hh), (gx + 0.03 * k, y - hh - 0.062 * k), (b + 0.012 * k, y - hh)], side)
        self.poly([(cx + 0.062 * k - 0.16 * k, y - hh - 0.05 * k), (cx + 0.062 * k - 0.16 * k, y - hh - 0.12 * k),
                   (cx + 0.062 * k - 0.135 * k, y - hh - 0.12 * k), (cx + 0.062 * k - 0.135 * k, y - hh - 0.05 * k)], side)
        self.poly([(a - 0.018 * k, y - hh + 0.004 * k), (a + 0.018 * k, y - hh - 0.072 * k), (gx + 0.03 * k, y - hh - 0.072 * k), (gx - 0.012 * k, y - hh + 0.004 * k)], roof)
        lit = s.time in ("night", "dusk", "sunset", "dawn") or s.mood in ("stormy", "misty") or s.season == "winter"
        win = mix(rgb(255, 206, 112), ramp_of(s.colour, 0.85) if s.colour else rgb(255, 206, 112), 0.6) if lit else mix(self.zen, self.shade, 0.4)
        wy, wx = y - hh * 0.52, cx - 0.035 * k
        if lit:
            bb = self.box(wx, wy, 0.13 * k, 0.13 * k)
            if bb:
                x0, x1, y0, y1 = bb
                q = ((self.px[x0:x1] - wx) ** 2 + ((self.py[y0:y1] - wy) ** 2)[:, None]) / F((0.05 * k) ** 2)
                self.blend(np.exp(-q) * F(0.42), win, y0, y1, x0, x1)
        self.poly([(wx - 0.019 * k, wy - 0.019 * k), (wx + 0.019 * k, wy - 0.019 * k), (wx + 0.019 * k, wy + 0.019 * k), (wx - 0.019 * k, wy + 0.019 * k)], win)

    def front_lone_tree(self):
        u = self.u
        cx = self.placed()
        base = self.snapped(self.hz + (self.h - self.hz) * (0.42 if self.s.water == "none" else 0.93))
        if self.s.water != "none":
            t = (self.px - F(cx)) / F(u * 0.26)
            c = mix(self.col(GROUND[self.s.season], 0.95, 0.8), self.shade, 0.3)
            self.ridge(F(self.h) - F(u * 0.09) * np.exp(-t * t * F(1.5)) + F(u * 0.015), c, mix(c, self.shade, 0.3), u * 0.15)
        own = CROWNS[self.s.season]
        c = mix(self.col(own, 0.95, 0.75), self.shade, 0.3)
        self.round_tree(cx, base, u * 0.44, c, self.col(mix(own, rgb(255, 240, 180), 0.25), 0.95, 1.3))

    def front_birds(self):
        u = self.u
        c = mix(self.shade, self.mid, 0.15)
        cx, cy = self.placed(), self.snapped(self.hz * 0.33)
        for k, off in enumerate((0.035, -0.02, 0.045, -0.045, 0.01)):
            x, y = cx + (k - 2) * u * 0.068, cy + off * u
            q = u * (0.027, 0.032, 0.024, 0.03, 0.026)[k]
            for sgn in (-1, 1):
                self.poly([(x, y + 0.14 * q), (x + sgn * q * 0.55, y - q * 0.42), (x + sgn * q * 1.15, y - q * 0.22), (x + sgn * q * 0.55, y - q * 0.16)], c)

    def subject(self, name, drawing):
        """Draws one of subjects.py by its function."""
        drawing(self)

    # -- the whole -------------------------------------------------------------------------------------------------
    def mist(self):
        s = self.s
        amount = {"misty": 0.72, "clear": 0.14, "cloudy": 0.2, "stormy": 0.22}[s.mood]
        if s.time == "night":
            amount *= 0.75
        lay = np.exp(-((self.py - F(self.hz - self.u * 0.02)) / F(self.u * (0.13 if s.mood == "misty" else 0.06))) ** 2)[:, None]
        if s.mood == "misty":
            lay = lay * (F(0.55) + F(0.75) * self.layout.field("mist", self.x, self.y, 1.5, 5, self.u))
        self.blend(np.clip(lay * F(amount), 0, 1), mix(self.hor, self.light, 0.2))

    def finish(self):
        s = self.s
        # bloom of the light over everything
        self.blend(self.halo * F(0.22), self.light)
        img = self.img
        if s.colour:
            lum = np.clip(img @ LUMA, 0, 1)
            table = ramp_of(s.colour, np.linspace(0, 1, 256))
            k = 1.0 if s.colour == "black and white" else 0.8 if s.colour == "grey" else 0.5
            img += F(k) * (table[(lum * 255).astype(np.uint8)] - img)
        if s.colours:  # shadows in the sky's upper colour, lights in its lower one
            lum = np.clip(img @ LUMA, 0, 1)
            steps = np.linspace(0, 1, 256)
            upper, lower = (ramp_of(colour, steps) for colour in s.colours)
            table = upper + (lower - upper) * smooth((steps - 0.15) / 0.6)[:, None].astype(F)
            img += F(0.42) * (table[(lum * 255).astype(np.uint8)] - img)
        np.clip(img, 0, 1, out=img)
        # gentle film-like contrast: a soft S over a lifted black
        img += F(0.22) * (img * img * (3 - 2 * img) - img)
        img *= F(0.965)
        img += F(0.02)
        if s.style != "none":
            img = styled(self)
        return (img * F(255) + F(0.5)).astype(np.uint8)


def compose(c):
    """The picture of a Drawing's scene, uint8 [height, width, 3], drawn on it."""
    scene = c.s
    c.sky()
    if scene.rainbow:
        c.subject("rainbow", draw_rainbow)
    c.land()
    c.mist()
    if scene.subject in BEFORE_WATER:
        c.subject(scene.subject, BEFORE_WATER[scene.subject])
    if scene.water != "none":
        c.water()
    else:
        c.ground()
    if scene.subject in ON_GROUND:
        c.subject(scene.subject, ON_GROUND[scene.subject])
    c.plants()
    c.foreground()
    if scene.rain:
        draw_rain(c)
    return c.finish()


def draw(scene, width, height, layout=None):
    """The picture of a scene, uint8 [height, width, 3]; without a layout, with one by the scene's seed."""
    return compose(Drawing(scene, int(width), int(height), layout))
