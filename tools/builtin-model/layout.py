"""The composition of a drawing, read from the noise that its picture begins from.

The engine begins a picture with normal noise. Here some measures of that noise are what a drawing takes its choices from: where the sun stands, how
high a peak is, where clouds are. A model that is trained on such pairs of noise and drawing has one right answer for each noise and caption instead of many,
of which it could only draw the mean. The measures of normal noise are independent and normal, or so nearly that it makes no difference, so noise with a given layout is normal noise
too, and the engine needs no change.

What is large and has edges (a line of hills, a peak, a tower) has one of a few forms, and stands at edges of patches: a patch then has few forms to learn, and a number
that is read a little wrong still stands for the same form. What is soft (clouds, mist) takes every value.

Noise is taken patch by patch, as the DiT does (model.patches): 2 x 2 latents of 16 channels. Differences of the four make one number each of the whole picture and one for
each column of patches, single values one for each patch. What is left over means nothing, and training draws it anew every time. Latents of pictures are smooth, so means of
their differences are next to nothing: while a picture comes out of the noise, its numbers can still be read.

A mean over the whole picture is the smaller the more patches there are, and a DiT that sees means would have to know how many. So numbers are taken in units of all
such means together, those that no number uses among them: each is a coordinate of a point on a sphere, which a norm finds at any size.
"""

import dataclasses
import zlib

import numpy as np

from palette import F

PIXELS = 16  # of a patch
NUMBERS = ("land", "time", "water", "mood", "vegetation", "foreground", "horizon", "light", "wisps", "trees", "form 0", "form 1", "form 2", "reach", "turn")
PROFILES = ("aurora", "towers")
# Numbers that choose one of so many.
COUNTS = {"horizon": 3, "form 0": 3, "form 1": 3, "form 2": 3, "turn": 4}
FIELDS = ("clouds", "cloud detail", "mist", "stars")
CHANNELS = 16
VALUES = 4 * CHANNELS  # of a patch: of its latents above left, above right, below left and below right
FIELD_VALUES = slice(VALUES - len(FIELDS), VALUES)


def _difference(signs: tuple[int, ...], channel: int) -> np.ndarray:
    """The direction among a patch's values of one difference of its latents in a channel, of length 1."""
    direction = np.zeros(VALUES, F)
    direction[channel::CHANNELS] = np.array(signs, F) / 2
    return direction


_DIAGONAL, _ACROSS, _DOWN = (1, -1, -1, 1), (1, -1, 1, -1), (1, 1, -1, -1)
# Of the twelve channels that fields leave alone, the numbers' own first: diagonal differences have the smallest means in pictures, then those across, 0.2 and 0.3 of a
# number's deviation in these channels. Down a column, differences from row to row have.
_PROFILED = (1, 11)
SPHERE_DIRECTIONS = np.stack(
    [_difference(_DIAGONAL, channel) for channel in range(12)]
    + [_difference(_ACROSS, channel) for channel in (0, 9, 10, *range(1, 9), 11)]
    + [_difference(_DOWN, channel) for channel in range(12) if channel not in _PROFILED]
)  # [SPHERE, VALUES]
SPHERE = len(SPHERE_DIRECTIONS)
PROFILE_DIRECTIONS = np.stack([_difference(_DOWN, channel) for channel in _PROFILED])  # [PROFILES, VALUES]


def on_sphere(means: np.ndarray) -> np.ndarray:
    """Numbers [..., NUMBERS] of means [..., SPHERE] along SPHERE_DIRECTIONS, of any length."""
    return means[..., : len(NUMBERS)] * np.sqrt(SPHERE / (means * means).sum(-1, keepdims=True))


def ndtr(x):
    """The normal distribution's share below x, to within 0.0005: normal values as even ones in 0..1."""
    return 0.5 * (1 + np.tanh(0.7978846 * (x + 0.044715 * x * x * x)))


def texture_generator(name: str) -> np.random.Generator:
    """The generator of what is the same in every drawing."""
    return np.random.default_rng(zlib.crc32(name.encode()))


@dataclasses.dataclass(frozen=True)
class Layout:
    """Normal values: `numbers` [NUMBERS], `profiles` [PROFILES, columns] and `fields` [FIELDS, rows, columns] of patches."""

    numbers: np.ndarray
    profiles: np.ndarray
    fields: np.ndarray

    @classmethod
    def of_patches(cls, patches: np.ndarray) -> "Layout":
        """What normal noise [rows, columns, VALUES] holds."""
        rows, columns, _ = patches.shape
        numbers = on_sphere(SPHERE_DIRECTIONS @ patches.mean((0, 1)))
        profiles = PROFILE_DIRECTIONS @ patches.sum(0).T / F(np.sqrt(rows))
        return cls(numbers, profiles, patches[..., FIELD_VALUES].transpose(2, 0, 1))

    @classmethod
    def sample(cls, rng: np.random.Generator, width: int, height: int) -> "Layout":
        """A layout at random for a picture of so many pixels."""
        rows, columns = -(-height // PIXELS), -(-width // PIXELS)
        normal = [rng.standard_normal(shape).astype(F) for shape in ((SPHERE,), (len(PROFILES), columns), (len(FIELDS), rows, columns))]
        return cls(on_sphere(normal[0]), *normal[1:])

    def flat(self) -> np.ndarray:
        """All values in one row."""
        return np.concatenate([self.numbers, self.profiles.ravel(), self.fields.ravel()])

    @classmethod
    def of_flat(cls, values: np.ndarray, rows: int, columns: int) -> "Layout":
        """The layout whose `flat` this is, for a picture of so many patches."""
        numbers, profiles, fields = np.split(values, np.cumsum((len(NUMBERS), len(PROFILES) * columns)))
        return cls(numbers, profiles.reshape(-1, columns), fields.reshape(-1, rows, columns))

    def halved(self) -> "Layout":
        """The same for the picture at half its size: sums of neighbours, made normal again."""
        profiles = (self.profiles[:, ::2] + self.profiles[:, 1::2]) / F(np.sqrt(2))
        rows = self.fields[:, ::2] + self.fields[:, 1::2]
        return Layout(self.numbers, profiles, (rows[..., ::2] + rows[..., 1::2]) / F(2))

    def number(self, name: str, low: float = 0.0, high: float = 1.0) -> float:
        """An even value in low..high."""
        return low + (high - low) * float(ndtr(self.numbers[NUMBERS.index(name)]))

    def choice(self, name: str) -> int:
        """Which one a number of COUNTS chooses, each as often."""
        return min(COUNTS[name] - 1, int(self.number(name, 0, COUNTS[name])))

    def profile(self, name: str, x: np.ndarray, frequency: float, unit: float) -> np.ndarray:
        """Even values in -1..1 at places `x` across, in units of so many pixels from the middle, smooth over 1 / frequency."""
        kernel = _kernel(x, self.profiles.shape[1], frequency, unit)
        return (2 * ndtr(kernel @ self.profiles[PROFILES.index(name)]) - 1).astype(F)

    def field(self, name: str, x: np.ndarray, y: np.ndarray, across: float, down: float, unit: float) -> np.ndarray:
        """Even values in 0..1 over the grid of y (from the top) by x (from the middle), smooth over 1 / across and 1 / down."""
        field = self.fields[FIELDS.index(name)]
        height = field.shape[0] * PIXELS / unit
        kernels = _kernel(y - F(height / 2), field.shape[0], down, unit), _kernel(x, field.shape[1], across, unit)
        return ndtr(kernels[0] @ field @ kernels[1].T).astype(F)


def _kernel(places: np.ndarray, patches: int, frequency: float, unit: float) -> np.ndarray:
    """Weights [places, patches] that make a smooth line of unit variance from independent values of a row of patches."""
    spacing = PIXELS / unit
    centres = (np.arange(patches, dtype=F) + F(0.5) - F(patches / 2)) * F(spacing)
    width = max(0.42 / frequency, 0.55 * spacing)
    weights = np.exp(-0.5 * ((places[:, None] - centres) / F(width)) ** 2)
    return weights / np.sqrt((weights * weights).sum(1, keepdims=True) + F(1e-12))
