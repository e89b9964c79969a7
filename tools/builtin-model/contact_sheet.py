"""A sheet of generated pictures with their captions: python contact_sheet.py OUT.png [--count 24] [--seed 0] [--wide]"""
import argparse
import textwrap

import numpy as np
from PIL import Image, ImageDraw

from captions import caption
from draw import draw
from scenes import sample_scene, sample_wide_scene


def main():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--count", type=int, default=24)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--columns", type=int, default=6)
    p.add_argument("--width", type=int, default=256)
    p.add_argument("--height", type=int, default=256)
    p.add_argument("--wide", action="store_true")
    a = p.parse_args()
    rng = np.random.default_rng(a.seed)
    cw, ch = a.width + 8, a.height + 50
    rows = -(-a.count // a.columns)
    sheet = Image.new("RGB", (a.columns * cw, rows * ch), (245, 245, 245))
    pen = ImageDraw.Draw(sheet)
    for k in range(a.count):
        s = (sample_wide_scene if a.wide else sample_scene)(rng)
        x, y = (k % a.columns) * cw + 4, (k // a.columns) * ch + 4
        sheet.paste(Image.fromarray(draw(s, a.width, a.height)), (x, y))
        pen.text((x, y + a.height + 2), "\n".join(textwrap.wrap(caption(s, rng), a.width // 6)[:4]), fill=(20, 20, 20))
    sheet.save(a.out)


if __name__ == "__main__":
    main()
