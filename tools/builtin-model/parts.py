"""What is where in a drawing: training learns pictures sooner where it must also say what stands in each patch (train.py)."""

import numpy as np

from draw import Drawing
from scenes import SUBJECTS

PATCH = 16  # pixels: the DiT's at the picture's full size
# The methods of a Drawing, and the functions of subjects.py, whose opaque strokes are a part of their own.
METHODS = (
    "sky", "disc", "draw_stars", "draw_aurora", "clouds", "land", "peak", "land_forest", "land_city", "dab", "water", "ground", "flowers", "pine", "round_tree",
    "bank", "front_boat", "front_cabin", "front_lone_tree", "front_birds",
)  # fmt: skip
NAMES = (*METHODS, *SUBJECTS, "rainbow")
PARTS = len(NAMES)


class LabelledDrawing(Drawing):
    """A Drawing that also holds the number of the part that each pixel shows."""

    def __init__(self, scene, width, height, layout=None):
        self.parts = np.zeros((height, width), np.uint8)
        self.part = 0
        super().__init__(scene, width, height, layout)

    def blend(self, mask, colour, y0=0, y1=None, x0=0, x1=None):
        super().blend(mask, colour, y0, y1, x0, x1)
        view = self.parts[y0:y1, x0:x1]
        view[np.broadcast_to(mask, view.shape) > 0.5] = self.part

    def draw_as(self, name: str, drawing, *rest, **named):
        """Calls `drawing`, whose opaque strokes are of the part with this name, and returns what it returns."""
        outer, self.part = self.part, NAMES.index(name)
        try:
            return drawing(*rest, **named)
        finally:
            self.part = outer

    def water(self):
        self.parts[int(self.hz) :] = NAMES.index("water")
        self.draw_as("water", super().water)

    def disc(self, *rest, **named):
        # Of all discs only the sun's or moon's is drawn by the sky itself.
        if NAMES[self.part] == "sky":
            return self.draw_as("disc", super().disc, *rest, **named)
        return super().disc(*rest, **named)

    def subject(self, name: str, drawing):
        self.draw_as(name, drawing, self)


def _labelled(name: str):
    """The method of Drawing with this name, whose strokes are a part of its own."""
    drawing = getattr(Drawing, name)
    return lambda self, *rest, **named: self.draw_as(name, drawing, self, *rest, **named)


for _name in METHODS:
    if _name not in vars(LabelledDrawing):
        setattr(LabelledDrawing, _name, _labelled(_name))


def coverage(parts: np.ndarray) -> np.ndarray:
    """How much of each patch each part covers, bytes [rows, columns, PARTS] with 255 for all of it, of numbers of parts [height, width]."""
    height, width = parts.shape
    squares = parts.reshape(height // PATCH, PATCH, width // PATCH, PATCH)
    return np.stack([(squares == part).mean((1, 3), dtype=np.float32) * 255 for part in range(PARTS)], -1).round().astype(np.uint8)
