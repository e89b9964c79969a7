"""Draws the subjects of wide scenes (lighthouse, windmill, road, bridge, deer, swans), rain and the rainbow on a Canvas."""
import numpy as np
from PIL import Image, ImageDraw

from layout import texture_generator
from palette import F, GROUND, ROCK, mix, rgb, smooth

# Outlines face right: x to the right, y upwards; hoofs and waterline at 0.
DEER_BODY = ((-0.60, 0.96), (-0.2, 0.93), (0.18, 0.98), (0.31, 1.20), (0.40, 1.44), (0.28, 1.60), (0.50, 1.61), (0.64, 1.58), (0.90, 1.40), (0.86, 1.32),
             (0.64, 1.33), (0.61, 1.15), (0.55, 0.88), (0.43, 0.68), (0.40, 0.55), (0.37, 0.30), (0.39, 0.0), (0.31, 0.0), (0.29, 0.30), (0.25, 0.56),
             (0.1, 0.60), (-0.25, 0.64), (-0.34, 0.50), (-0.41, 0.34), (-0.38, 0.0), (-0.46, 0.0), (-0.52, 0.34), (-0.55, 0.50), (-0.66, 0.70), (-0.70, 0.86))
DEER_FAR_LEGS = (((0.26, 0.64), (0.17, 0.30), (0.20, 0.0), (0.13, 0.0), (0.09, 0.32), (0.08, 0.62)),
                 ((-0.22, 0.66), (-0.27, 0.34), (-0.20, 0.0), (-0.27, 0.0), (-0.37, 0.34), (-0.45, 0.66)))
DEER_ANTLERS = (((0.50, 1.56), (0.40, 1.80), (0.44, 2.06), (0.58, 2.22)), ((0.41, 1.80), (0.28, 1.98)), ((0.43, 2.0), (0.30, 2.20)),
                ((0.58, 1.56), (0.66, 1.80), (0.78, 1.98), (0.80, 2.20)), ((0.66, 1.80), (0.84, 1.84)), ((0.77, 1.96), (0.96, 2.06)))
SWAN_BODY = ((-0.95, 0.50), (-0.55, 0.44), (-0.15, 0.56), (0.25, 0.48), (0.50, 0.40), (0.60, 0.50), (0.54, 0.72), (0.50, 0.94), (0.58, 1.09), (0.72, 1.10),
             (0.80, 1.0), (0.74, 0.95), (0.66, 0.92), (0.66, 0.78), (0.74, 0.58), (0.80, 0.36), (0.72, 0.12), (0.50, 0.0), (-0.45, 0.0), (-0.72, 0.16))
SWAN_BEAK = ((0.76, 1.05), (0.98, 0.93), (0.95, 0.90), (0.74, 0.96))
SWAN_WING = ((-0.86, 0.44), (-0.2, 0.30), (0.30, 0.32), (0.1, 0.14), (-0.40, 0.10))
RAINBOW = (rgb(226, 60, 62), rgb(244, 140, 48), rgb(250, 222, 84), rgb(92, 190, 96), rgb(64, 140, 226), rgb(134, 84, 196))


# -- shared --------------------------------------------------------------------------------------------------------------
def curve(points, steps=5):
    """A closed smooth line through the points (Catmull-Rom)."""
    p1 = np.asarray(points, float)
    p0, p2, p3 = np.roll(p1, 1, 0), np.roll(p1, -1, 0), np.roll(p1, -2, 0)
    t = (np.arange(steps) / steps)[None, :, None]
    p0, p1, p2, p3 = (p[:, None] for p in (p0, p1, p2, p3))
    line = p1 + 0.5 * t * (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0)))
    return line.reshape(-1, 2)


def paint_outlines(c, outlines, colour, alpha=1.0, lines=(), line_width=1.0):
    """Fills outlines of any form, and draws lines, with soft edges; all in pixels."""
    corners = np.concatenate([np.asarray(o, float) for o in (*outlines, *lines)])
    low, high = corners.min(0), corners.max(0)
    bounds = c.box(*((low + high) / 2), *((high - low) / 2 + line_width))
    if not bounds:
        return
    x0, x1, y0, y1 = bounds
    fine = 4
    mask = Image.new("L", ((x1 - x0) * fine, (y1 - y0) * fine))
    pen = ImageDraw.Draw(mask)

    def at(points):
        return [((x - x0) * fine, (y - y0) * fine) for x, y in points]
    for outline in outlines:
        pen.polygon(at(outline), fill=255)
    for line in lines:
        pen.line(at(line), fill=255, width=max(1, round(line_width * fine)), joint="curve")
    c.blend(np.asarray(mask.reduce(fine), F) * F(alpha / 255), colour, y0, y1, x0, x1)


def painted(c, own, least=0.35):
    """The colour of a near thing: by day its own, in the dark mostly shade."""
    own = own * mix(rgb(255, 255, 255), c.light, 0.4)
    return mix(c.shade, own, least + (1 - least) * c.local)


def glow(c, cx, cy, radius, colour, strength):
    bounds = c.box(cx, cy, radius * 2, radius * 2)
    if bounds:
        x0, x1, y0, y1 = bounds
        square = ((c.px[x0:x1] - F(cx)) ** 2 + ((c.py[y0:y1] - F(cy)) ** 2)[:, None]) / F(radius * radius)
        c.blend(np.exp(-square) * F(strength), colour, y0, y1, x0, x1)


def lamps_are_lit(c):
    return c.s.time in ("night", "dusk", "sunset") or c.s.mood == "stormy"


def lamp_colour(c):
    return mix(rgb(255, 214, 130), c.light, 0.25)


def knoll(c, cx, top, wide):
    """A low hill of near ground below the height `top`, for a thing to stand on."""
    t = (c.px - F(cx)) / F(wide)
    line = F(c.h + 2) - F(c.h + 2 - top) * np.exp(-t * t)
    if c.s.snow:
        colour, foot = c.snow_col(0.95, 1.0), c.snow_col(0.95, 0.7)
    else:
        colour = c.col(mix(GROUND[c.s.season], c.own, 0.35), 0.85, 1.05)
        foot = mix(c.col(GROUND[c.s.season], 0.9, 0.8), c.shade, 0.25)
    c.ridge(line, colour, foot, c.u * 0.3)


def facing(points, cx, base, size, direction):
    """Outline coordinates as pixels."""
    return [(cx + direction * x * size, base - y * size) for x, y in points]


# -- subjects ------------------------------------------------------------------------------------------------------------
def draw_lighthouse(c):
    s, u = c.s, c.u
    if s.land == "cliffs":
        (reach, top), (nearer_reach, _) = c.cliffs[1], c.cliffs[2]
        across = (nearer_reach + reach - 0.055) / 2
        cx = c.w * (across if c.side > 0 else 1 - across)
        base = float(top[int(cx)]) + u * 0.012
        tall = min(u * 0.27, base * 0.88)
    else:
        cx = c.placed()
        high, wide = (0.11, 0.27) if s.land == "islands" else (0.075, 0.21)
        q = (c.px - F(cx)) / F(u * wide)
        rise = F(high) * np.maximum(1 - q * q, 0) ** F(0.7) * (F(1) + F(0.28) * c.texture1("rock", c.x - F((cx - c.w / 2) / u), 9, 2))
        line = np.where(np.abs(q) < 1, F(c.hz) - F(u) * rise, F(c.hz + 2))
        rock = c.col(mix(c.own, ROCK, 0.45 if s.land == "islands" else 0.8), 0.85, 0.9)
        c.ridge(line, rock, mix(rock, c.shade, 0.4), u * high)
        base = float(line[int(cx)]) + u * 0.012
        tall = min(u * 0.36, base * 0.9)
    lit = lamps_are_lit(c)
    lamp_y = base - tall * 0.83
    if lit:
        dark = s.time in ("night", "dusk")
        dx, dy = (c.px - F(cx)) / F(u), ((c.py - F(lamp_y)) / F(u))[:, None]
        for direction, strength in ((1, 0.51 + 0.11 * c.side), (-1, 0.51 - 0.11 * c.side)):
            ahead = np.maximum(dx * F(direction), 0)
            spread = F(0.012) + F(0.14) * ahead
            off = np.abs(dy + F(0.05) * ahead) / spread
            beam = smooth(F(1.25) - off) * (ahead > 0) * np.exp(-ahead * F(1.5))
            c.blend(beam * F(strength if dark else strength * 0.6), lamp_colour(c))
    white, red = painted(c, rgb(248, 244, 236), 0.5), painted(c, rgb(206, 52, 46), 0.42)
    dark_iron = mix(c.shade, rgb(50, 50, 60), 0.5)

    def half_width(up):
        return tall * (0.125 - 0.062 * up)

    def part(low, high, colour, low_width=None, high_width=None, alpha=1.0):
        a, b = low_width or half_width(low), high_width or half_width(high)
        c.poly([(cx - a, base - low * tall), (cx - b, base - high * tall), (cx + b, base - high * tall), (cx + a, base - low * tall)], colour, alpha)
    part(0.0, 0.74, white)
    for low in (0.14, 0.40, 0.62):
        part(low, low + (0.13 if low < 0.6 else 0.12), red)
    away = -c.side
    c.poly([(cx, base), (cx, base - 0.74 * tall), (cx + away * half_width(0.74), base - 0.74 * tall), (cx + away * half_width(0), base)], c.shade, 0.28)
    part(0.77, 0.89, lamp_colour(c) if lit else mix(c.mid, c.shade, 0.45), tall * 0.055, tall * 0.055)
    part(0.74, 0.775, dark_iron, tall * 0.115, tall * 0.115)
    part(0.885, 1.0, mix(red, c.shade, 0.3), tall * 0.085, tall * 0.004)
    if lit:
        glow(c, cx, lamp_y, tall * 0.16, mix(lamp_colour(c), rgb(255, 255, 240), 0.5), 0.9)


def draw_windmill(c):
    s, u = c.s, c.u
    cx = c.placed()
    base = c.snapped(c.hz + (c.h - c.hz) * 0.18)
    if s.land == "hills":
        base = c.snapped(c.hz + (c.h - c.hz) * 0.08)
        knoll(c, cx, base - u * 0.004, u * 0.42)
    tall = u * 0.32
    wall = painted(c, rgb(232, 216, 190))
    wood = mix(c.shade, rgb(70, 50, 44), 0.2 + 0.5 * c.local)
    sail = painted(c, rgb(250, 244, 228), 0.42)
    low, high = tall * 0.21, tall * 0.13
    c.poly([(cx - low, base), (cx - high, base - tall * 0.82), (cx + high, base - tall * 0.82), (cx + low, base)], wall)
    away = -c.side
    c.poly([(cx + away * low * 0.15, base), (cx + away * high * 0.15, base - tall * 0.82), (cx + away * high, base - tall * 0.82), (cx + away * low, base)],
           c.shade, 0.25)
    roof = painted(c, rgb(128, 62, 50), 0.25)
    paint_outlines(c, [curve([(cx - high * 1.25, base - tall * 0.81), (cx - high * 0.8, base - tall * 0.96), (cx, base - tall * 1.04),
                              (cx + high * 0.8, base - tall * 0.96), (cx + high * 1.25, base - tall * 0.81)])], roof)
    opening = lamp_colour(c) if lamps_are_lit(c) else mix(c.shade, wall, 0.15)
    c.poly([(cx - tall * 0.05, base), (cx - tall * 0.05, base - tall * 0.17), (cx + tall * 0.05, base - tall * 0.17), (cx + tall * 0.05, base)], wood)
    for up in (0.36, 0.56):
        c.disc(cx, base - tall * up, tall * 0.032, opening)
    hub_y, reach = base - tall * 0.86, min(u * 0.215, base - tall * 0.86 - u * 0.01)
    turned = 0.55
    for quarter in range(4):
        angle = turned + quarter * np.pi / 2
        along, across = np.array((np.cos(angle), np.sin(angle))), np.array((-np.sin(angle), np.cos(angle)))

        def at(out, off):
            return tuple(np.array((cx, hub_y)) + along * out * reach + across * off * reach)
        c.poly([at(0.2, 0.02), at(1.0, 0.02), at(1.0, 0.25), at(0.2, 0.25)], sail, 0.94)
        bars = [(at(out, 0.0), at(out, 0.25)) for out in (0.2, 0.47, 0.73, 1.0)] + [(at(0.2, 0.25), at(1.0, 0.25))]
        paint_outlines(c, [], wood, lines=bars, line_width=u * 0.0045)
        paint_outlines(c, [], wood, lines=[(at(0.0, 0.0), at(1.0, 0.0))], line_width=u * 0.010)
    c.disc(cx, hub_y, u * 0.013, wood)


def draw_road(c):
    s, u = c.s, c.u
    paved = s.land in ("desert", "city")
    y0 = int(c.hz - u * 0.008)
    depth = np.clip((c.py[y0:] - F(y0)) / F(c.h - y0), 0, 1)
    phase = (0.5, 2.1, 3.7, 5.3)[c.layout.choice("turn")]
    centre = F(c.w * 0.5) + F(u) * (F(0.02) + F(0.2) * depth) * np.sin(F(phase) + F(3.8) * np.log(depth + F(0.09)))
    half = F(u) * (F(0.006) + F(0.115) * depth ** F(1.15))
    off = np.abs(c.px - centre[:, None])
    near = depth[:, None, None]
    if paved:
        far_colour, near_colour = c.col(rgb(126, 124, 132), 0.45, 1.0), c.col(rgb(84, 84, 94), 0.95, 1.0)
    elif s.snow:
        far_colour, near_colour = c.col(rgb(150, 140, 142), 0.5, 1.2), mix(c.col(rgb(124, 112, 110), 0.95, 1.1), c.shade, 0.1)
    else:
        far_colour, near_colour = c.col(rgb(240, 218, 178), 0.6, 1.5), c.col(rgb(226, 196, 150), 0.98, 1.5)
    tinted = s.colour or s.colours
    if paved and tinted and s.time not in ("night", "dusk"):  # or it would look like a river
        far_colour, near_colour = mix(far_colour, c.shade, 0.35), mix(near_colour, c.shade, 0.45)
    elif s.time in ("night", "dusk") or tinted:
        pale = mix(c.hor, c.light, 0.6)
        share = 0.08 if s.snow else 0.28 if paved else 0.38
        far_colour, near_colour = mix(far_colour, pale, share), mix(near_colour, pale, share)
    rim = half[:, None] * F(1.16)
    c.blend(np.clip(rim - off + F(0.5), 0, 1) * F(0.35), c.shade if not paved else mix(c.shade, far_colour, 0.5), y0)
    mask = np.clip(half[:, None] - off + F(0.5), 0, 1)
    c.blend(mask, far_colour + (near_colour - far_colour) * near, y0)
    if paved:
        dash = (np.sin(F(20) * np.log(depth + F(0.12))) > 0)[:, None]
        c.blend(np.clip(half[:, None] * F(0.055) - off + F(0.5), 0, 1) * dash * F(0.85), mix(near_colour, rgb(255, 246, 214), 0.75), y0)
    else:
        wheel = np.exp(-((off / half[:, None] - F(0.45)) / F(0.13)) ** 2)
        c.blend(mask * wheel * F(0.22) * near[..., 0], c.shade, y0)


def draw_bridge(c):
    u = c.u
    waterline = c.snapped(c.hz + (c.h - c.hz) * 0.34)
    tall = u * 0.18
    arches = int(np.clip(round(c.w / u * 2.6), 2, 5))
    spacing = c.w / arches
    hump = F(tall) * (F(1) - F(0.22) * ((c.px / F(c.w) - F(0.5)) * 2) ** 2)
    rise = F(tall * 0.66) * (hump / F(tall))
    wide = spacing * 0.40
    from_pier = (np.mod(c.px, F(spacing)) - F(spacing / 2)) / F(wide)
    stone = painted(c, rgb(196, 182, 162), 0.38)
    if c.s.colour or c.s.colours:
        stone = mix(stone, c.shade, 0.35)  # or it would be of the land's colour
    shade, ring = mix(stone, c.shade, 0.45), mix(stone, c.shade, 0.28)
    parapet = mix(stone, c.light, 0.3)

    def masks(height):
        """The whole and its parts, from heights above the water for each pixel."""
        radius = np.sqrt(from_pier ** 2 + (np.maximum(height, 0) / rise) ** 2)
        from_arch = (radius - 1) * F(min(wide, tall * 0.66))
        whole = np.clip(np.minimum(hump - height, from_arch) + F(0.5), 0, 1) * np.clip(height + F(0.5), 0, 1)
        return whole, np.clip(F(u * 0.018) - from_arch + F(0.5), 0, 1), np.clip(height - hump + F(u * 0.026) + F(0.5), 0, 1)
    y0, y1 = max(0, int(waterline - tall * 1.1)), min(c.h, int(waterline + tall * 1.1))
    # mirrored first
    rows = c.py[int(waterline):y1]
    wob = (c.texture2("waves", c.x, np.log((rows - F(c.hz)) / F(u) + F(0.1)), 6, 10, 2) - F(0.5)) * F(u * 0.035)
    whole, _, _ = masks((rows - F(waterline))[:, None] * F(1.05) + wob)
    c.blend(whole * F(0.55), mix(shade, c.mid, 0.25), int(waterline), y1)
    rows = c.py[y0:int(waterline) + 1]
    whole, rings, top = masks(F(waterline) - rows[:, None])
    grain = c.texture2("stone", c.x, rows / F(u), 34, 60, 2)[..., None]
    side = np.clip((F(waterline) - rows) / F(tall), 0, 1)[:, None, None]
    c.blend(whole, shade + (stone - shade) * (F(0.35) + F(0.65) * side) * (F(0.75) + F(0.5) * grain), y0, int(waterline) + 1)
    c.blend(whole * rings * F(0.8), ring, y0, int(waterline) + 1)
    c.blend(whole * top, parapet, y0, int(waterline) + 1)
    if lamps_are_lit(c):
        for pier in range(arches + 1):
            cx = min(max(pier * spacing, spacing * 0.04), c.w - spacing * 0.04)
            cy = waterline - float(hump[min(c.w - 1, int(cx))]) - u * 0.04
            c.poly([(cx - u * 0.003, cy), (cx - u * 0.003, cy + u * 0.042), (cx + u * 0.003, cy + u * 0.042), (cx + u * 0.003, cy)], shade)
            glow(c, cx, cy, u * 0.035, lamp_colour(c), 0.6)
            c.disc(cx, cy, u * 0.010, mix(lamp_colour(c), rgb(255, 255, 240), 0.4))


def draw_deer(c):
    u = c.u
    cx = c.placed()
    base = c.snapped(c.hz + (c.h - c.hz) * 0.34)
    knoll(c, cx, base - u * 0.006, u * 0.6)
    size = u * 0.18
    coat = mix(c.shade * F(0.8), rgb(136, 84, 52), 0.05 + 0.7 * c.local * (0.6 if c.s.colour or c.s.colours else 1.0))
    far, antler = mix(coat, c.shade, 0.45), mix(c.shade, rgb(92, 66, 50), 0.1 + 0.5 * c.local)
    direction = c.side
    paint_outlines(c, [facing(leg, cx, base - u * 0.004, size, direction) for leg in DEER_FAR_LEGS], far)
    paint_outlines(c, [], antler, lines=[facing(line, cx, base, size, direction) for line in DEER_ANTLERS], line_width=size * 0.055)
    paint_outlines(c, [facing(curve(DEER_BODY), cx, base, size, direction)], coat)


def draw_swans(c):
    u = c.u
    white, shade = c.snow_col(1, 1.0), c.snow_col(1, 0.35)
    orange = painted(c, rgb(238, 130, 40), 0.45)
    middle = c.placed(0.05)
    apart = min(u * 0.17, c.w * 0.19)
    near, far = 0.62, 0.3
    for down, size, off in ((far, 0.115, -apart), (near, 0.16, apart * 0.75)):
        cx, base, size = middle + c.side * off, c.snapped(c.hz + (c.h - c.hz) * down), u * size
        direction = c.side if off < 0 else -c.side

        def at(points, down_by=1.0):
            return [(x, base - (base - y) * down_by) for x, y in facing(points, cx, base, size, direction)]
        paint_outlines(c, [at(curve(SWAN_BODY), -0.85)], white, 0.32)
        c.disc(cx, base + size * 0.02, size * 1.05, mix(c.shade, c.mid, 0.3), ry=size * 0.07, alpha=0.4, soft=size * 0.03)
        paint_outlines(c, [at(curve(SWAN_BODY))], white)
        paint_outlines(c, [at(curve(SWAN_WING))], shade, 0.55)
        paint_outlines(c, [at(SWAN_BEAK)], orange)


# -- weather -------------------------------------------------------------------------------------------------------------
def draw_rainbow(c):
    """An arc in the sky on the side away from the light, before land and water, so that both hide and mirror it."""
    u = c.u
    cx, cy = c.placed(0.11), c.hz + u * 0.1
    radius = min(cy - u * 0.08, u * 0.62)
    wide = u * 0.095
    y1 = int(c.hz) + 2
    distance = np.sqrt((c.px - F(cx)) ** 2 + ((c.py[:y1] - F(cy)) ** 2)[:, None])
    place = (F(radius) - distance) / F(wide)  # 0 at the outer edge .. 1 at the inner one
    c.blend((place > 1) * np.exp(-np.maximum(place - 1, 0) * F(0.5)) * F(0.10), rgb(255, 255, 255), 0, y1)
    bands = np.interp(np.clip(place, 0, 1).ravel() * (len(RAINBOW) - 1), np.arange(len(RAINBOW)), np.arange(len(RAINBOW)))
    low = np.minimum(bands.astype(np.intp), len(RAINBOW) - 2)
    colours = np.stack(RAINBOW)
    part = (bands - low).astype(F)[:, None]
    colour = (colours[low] + (colours[low + 1] - colours[low]) * part).reshape(*place.shape, 3)
    mask = smooth(np.minimum(place + F(0.12), F(1.12) - place) / F(0.24))
    c.blend(mask * F(0.74), colour, 0, y1)


def draw_rain(c):
    s, u = c.s, c.u
    r = texture_generator("rain")
    slant = 0.28 * c.side
    # broad shafts, then streaks: many short and faint ones, fewer long ones
    shafts = np.zeros((c.h, c.w), F)
    across = (c.px - c.w / 2) / F(u)
    for k in range(3):
        cx, wide = r.uniform(-0.6, 0.6) * c.w / u, r.uniform(0.08, 0.2)
        shafts += np.exp(-(((across + F(slant) * c.y[:, None]) - F(cx)) / F(wide)) ** 2)
    veil = mix(c.hor, c.mid, 0.5)
    veil = mix(veil, np.full(3, float(veil.mean()) * 0.92, F), 0.0 if s.colour or s.colours else 0.6)
    c.blend(np.clip(shafts, 0, 1) * F(0.18) + F(0.2), veil)
    fine = 2
    mask = Image.new("L", (c.w * fine, c.h * fine))
    pen = ImageDraw.Draw(mask)
    area = c.w * c.h / (u * u)
    for count, long, wide, strength in ((220, 0.06, 0.0035, 110), (80, 0.11, 0.0052, 205)):
        n = int(count * area)
        x, y, size = r.uniform(-0.1, 1.1, n) * c.w, r.uniform(-0.1, 1.0, n) * c.h, r.uniform(0.75, 1.25, n) * long * u
        for a, b, d in zip(x, y, size):
            pen.line((a * fine, b * fine, (a - slant * d) * fine, (b + d) * fine), fill=strength, width=max(1, round(wide * u * fine)))
    streak = mix(c.hor, rgb(255, 255, 255), 0.62 if s.time not in ("night", "dusk") else 0.4)
    c.blend(np.asarray(mask.reduce(fine), F) * F(0.62 / 255), streak)
    if s.water != "none":
        for _ in range(int(26 * c.w / u)):
            down = r.uniform(0.12, 0.85)
            wide = u * (0.008 + 0.026 * down)
            cx, cy = r.uniform(0, 1) * c.w, c.hz + (c.h - c.hz) * down
            ring = [(cx + wide * np.cos(a), cy + 0.32 * wide * np.sin(a)) for a in np.linspace(0, 2 * np.pi, 17)]
            paint_outlines(c, [], streak, 0.5, [ring], u * 0.004)


BEFORE_WATER = {"lighthouse": draw_lighthouse}  # the water mirrors it
ON_GROUND = {"windmill": draw_windmill, "road": draw_road, "bridge": draw_bridge, "deer": draw_deer, "swans": draw_swans}
