"""The three parts of the built-in model, in the shapes and with the arithmetic of the engine's Z-Image path.

Parameter names are those of the files that the engine reads, so that exporting is writing the state dict.
Latents are [batch, 16, height / 8, width / 8]; pictures are [batch, 3, height, width] in 0..1.
"""

import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import nn

LATENT_CHANNELS = 16
PATCH = 2
HEAD = 128
AXES = (32, 48, 48)
ROPE_BASE = 256.0
MULTIPLE = 32  # text and picture tokens are each padded to a multiple of this


class RmsNorm(nn.Module):
    def __init__(self, width: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight.to(x.dtype), self.eps)


@dataclasses.dataclass(frozen=True)
class Shape:
    """The free dimensions of the DiT and of the text encoder."""

    width: int = 256
    layers: int = 6
    refiners: int = 1
    text_width: int = 48

    @property
    def inner(self) -> int:
        """Width of the feed-forward: 8/3 of the width, up to a multiple of 256 (as the engine derives it)."""
        return -(-int(8.0 / 3.0 * self.width) // 256) * 256


def rotations(positions: torch.Tensor) -> torch.Tensor:
    """Angles [length, HEAD / 2] of the rotary embedding at positions [length, 3] (text index, row, column)."""
    parts = []
    for axis, size in enumerate(AXES):
        scale = torch.linspace(0.0, (size - 2) / size, size // 2)
        parts.append(positions[:, axis, None] * ROPE_BASE**-scale)
    return torch.cat(parts, dim=1)


def positions(text: int, rows: int, columns: int) -> torch.Tensor:
    """Positions of the padded text, then of the picture's patches row by row, then of its padding (all zero)."""
    words = torch.zeros(text, 3)
    words[:, 0] = torch.arange(1, text + 1)
    grid = torch.zeros(rows, columns, 3)
    grid[..., 0] = text + 1
    grid[..., 1] = torch.arange(rows)[:, None]
    grid[..., 2] = torch.arange(columns)
    filler = torch.zeros(-(rows * columns) % MULTIPLE, 3)
    return torch.cat([words, grid.reshape(-1, 3), filler])


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Turns neighbouring pairs of x [batch, length, heads, HEAD] by the angles whose cos and sin [length, HEAD / 2] are given."""
    even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def patches(latents: torch.Tensor) -> torch.Tensor:
    """Latents as the DiT's tokens: [batch, patches row by row, PATCH * PATCH * channels]."""
    batch, _, height, width = latents.shape
    x = latents.unflatten(3, (width // PATCH, PATCH)).unflatten(2, (height // PATCH, PATCH))  # batch, channel, row, y, column, x
    return x.permute(0, 2, 4, 3, 5, 1).reshape(batch, (height // PATCH) * (width // PATCH), -1)


def unpatched(tokens: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    """The latents whose `patches` these are."""
    x = tokens.view(-1, rows, columns, PATCH, PATCH, LATENT_CHANNELS).permute(0, 5, 1, 3, 2, 4)
    return x.reshape(-1, LATENT_CHANNELS, rows * PATCH, columns * PATCH)


class Attention(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.q_norm = RmsNorm(HEAD, 1e-6)
        self.k_norm = RmsNorm(HEAD, 1e-6)

    def forward(self, x, cos, sin):
        q, k, v = self.qkv(x).unflatten(-1, (3, -1, HEAD)).unbind(2)
        q = rotate(self.q_norm(q), cos, sin)
        k = rotate(self.k_norm(k), cos, sin)
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        return self.out(y.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, width: int, inner: int):
        super().__init__()
        self.w1 = nn.Linear(width, inner, bias=False)
        self.w2 = nn.Linear(inner, width, bias=False)
        self.w3 = nn.Linear(width, inner, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self, shape: Shape, modulated: bool):
        super().__init__()
        self.attention = Attention(shape.width)
        self.feed_forward = FeedForward(shape.width, shape.inner)
        for name in ("attention_norm1", "ffn_norm1", "attention_norm2", "ffn_norm2"):
            setattr(self, name, RmsNorm(shape.width, 1e-5))
        if modulated:
            self.adaLN_modulation = nn.Sequential(nn.Linear(min(shape.width, 256), 4 * shape.width))

    def forward(self, x, cos, sin, time=None):
        if time is None:
            x = x + self.attention_norm2(self.attention(self.attention_norm1(x), cos, sin))
            return x + self.ffn_norm2(self.feed_forward(self.ffn_norm1(x)))
        scale1, gate1, scale2, gate2 = self.adaLN_modulation(time)[:, None].chunk(4, dim=-1)
        y = self.attention(self.attention_norm1(x) * (1 + scale1), cos, sin)
        x = x + torch.tanh(gate1) * self.attention_norm2(y)
        y = self.feed_forward(self.ffn_norm1(x) * (1 + scale2))
        return x + torch.tanh(gate2) * self.ffn_norm2(y)


class TimeEmbedder(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(256, min(width, 1024)), nn.SiLU(), nn.Linear(min(width, 1024), 256))

    def forward(self, time):
        """`time` [batch] in thousandths: 0 at pure noise, 1000 at the picture."""
        frequencies = torch.exp(-math.log(10000.0) * torch.arange(128, device=time.device) / 128)
        angles = time[:, None].float() * frequencies
        return self.mlp(torch.cat([angles.cos(), angles.sin()], dim=-1))


class FinalLayer(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.linear = nn.Linear(width, PATCH * PATCH * LATENT_CHANNELS)
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(min(width, 256), width))

    def forward(self, x, time):
        x = F.layer_norm(x, (x.shape[-1],), eps=1e-6)
        return self.linear(x * (1 + self.adaLN_modulation(time)[:, None]))


class Dit(nn.Module):
    """Predicts the velocity from noise to picture: (picture - noise), the engine's raw output before it flips the sign."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.x_embedder = nn.Linear(PATCH * PATCH * LATENT_CHANNELS, shape.width)
        self.t_embedder = TimeEmbedder(shape.width)
        self.cap_embedder = nn.Sequential(RmsNorm(shape.text_width, 1e-5), nn.Linear(shape.text_width, shape.width))
        self.cap_pad_token = nn.Parameter(torch.randn(shape.width) * 0.02)
        self.x_pad_token = nn.Parameter(torch.randn(shape.width) * 0.02)
        self.context_refiner = nn.ModuleList(Block(shape, False) for _ in range(shape.refiners))
        self.noise_refiner = nn.ModuleList(Block(shape, True) for _ in range(shape.refiners))
        self.layers = nn.ModuleList(Block(shape, True) for _ in range(shape.layers))
        self.final_layer = FinalLayer(shape.width)
        self._angles = {}
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        # Gates start a little open: the norm after each branch makes its size one whatever the weights are.
        for block in [*self.noise_refiner, *self.layers]:
            nn.init.zeros_(block.adaLN_modulation[0].weight)
            gates = block.adaLN_modulation[0].bias.data.view(4, -1)
            gates[1].fill_(0.2)
            gates[3].fill_(0.2)
        for block in self.context_refiner:
            nn.init.constant_(block.attention_norm2.weight, 0.2)
            nn.init.constant_(block.ffn_norm2.weight, 0.2)
        nn.init.zeros_(self.final_layer.linear.weight)
        nn.init.zeros_(self.final_layer.adaLN_modulation[1].weight)

    def turns(self, text: int, rows: int, columns: int, like: torch.Tensor):
        """Cosines and sines for this many text positions and patches, of the device and kind of `like`; kept."""
        key = (text, rows, columns, like.device, like.dtype)
        if key not in self._angles:
            angles = rotations(positions(text, rows, columns))
            self._angles[key] = (angles.cos().to(like), angles.sin().to(like))
        return self._angles[key]

    def forward(self, latents, time, text, lengths, kept=None, state_of=None):
        """Velocity like `latents`. `time` [batch] in thousandths, `text` [batch, padded, text_width], `lengths` [batch] of real tokens.

        With `kept`, sorted numbers of some patches, the layers see those alone (the refiner still sees all): the velocity of these patches
        [batch, kept, numbers of a patch], for cheaper training. With `state_of`, the number of a layer, also the states [batch, patches, width] of
        the picture after it."""
        _, _, height, width = latents.shape
        rows, columns = height // PATCH, width // PATCH
        time = self.t_embedder(time)

        words = self.cap_embedder(text)
        known = torch.arange(words.shape[1], device=lengths.device) < lengths[:, None]
        words = torch.where(known[..., None], words, self.cap_pad_token.to(words.dtype))

        x = self.x_embedder(patches(latents))
        filler = -(rows * columns) % MULTIPLE
        if filler:
            x = torch.cat([x, self.x_pad_token.to(x.dtype).expand(len(x), filler, -1)], dim=1)

        text_length = words.shape[1]
        cos, sin = self.turns(text_length, rows, columns, x)
        for block in self.context_refiner:
            words = block(words, cos[:text_length], sin[:text_length])
        for block in self.noise_refiner:
            x = block(x, cos[text_length:], sin[text_length:], time)
        if kept is not None:
            x = x[:, kept]
            cos, sin = (torch.cat([turn[:text_length], turn[text_length:][kept]]) for turn in (cos, sin))
        x = torch.cat([words.to(x.dtype), x], dim=1)
        for number, block in enumerate(self.layers):
            x = block(x, cos, sin, time)
            if number == state_of:
                states = x[:, text_length : text_length + (rows * columns if kept is None else len(kept))]
        if kept is not None:
            velocity = self.final_layer(x[:, text_length:], time)
        else:
            velocity = unpatched(self.final_layer(x[:, text_length : text_length + rows * columns], time), rows, columns)
        return velocity if state_of is None else (velocity, states)


class TextEncoder(nn.Module):
    """A Qwen3 encoder without layers: a row for each token, then its norm. The DiT's context refiner brings the words together.

    Only the rows of the tokens in `used` (sorted ids) are held while training; every other row is zero in the exported file.
    """

    def __init__(self, width: int, used: torch.Tensor):
        super().__init__()
        self.register_buffer("used", used)
        self.rows = nn.Parameter(torch.randn(len(used), width) * 0.5)
        self.norm = RmsNorm(width, 1e-6)

    def forward(self, ids):
        """States [batch, length, width] of token ids [batch, length]; ids that training never met give zeros."""
        index = torch.searchsorted(self.used, ids).clamp(max=len(self.used) - 1)
        known = (self.used[index] == ids)[..., None]
        return self.norm(self.rows[index] * known)


def _conv(inward: int, outward: int, stride: int = 1, bias: bool = True) -> nn.Conv2d:
    return nn.Conv2d(inward, outward, 3, stride, 1, bias=bias)


class TaeBlock(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.conv = nn.Sequential(_conv(width, width), nn.ReLU(), _conv(width, width), nn.ReLU(), _conv(width, width))

    def forward(self, x):
        return F.relu(self.conv(x) + x)


class Skip(nn.Module):
    """A block of the layout that is left out: its weights are zeros in the file, and what stays of it is its last ReLU."""

    def forward(self, x):
        return F.relu(x)


TAE_WIDTH = 64  # of every layer in the file; narrower ones are padded with zeros when exported


class Autoencoder(nn.Module):
    """The tiny autoencoder's layout, trained narrower where pictures are largest: the rest of its channels are zero in the file."""

    def __init__(self, full: int = 24, half: int = 40):
        super().__init__()
        w = TAE_WIDTH
        self.layout = {"full": full, "half": half}
        self.encoder = nn.ModuleDict({"layers": nn.Sequential(
            _conv(3, full), TaeBlock(full),
            _conv(full, half, 2, False), TaeBlock(half), TaeBlock(half), Skip(),
            _conv(half, w, 2, False), TaeBlock(w), TaeBlock(w), Skip(),
            _conv(w, w, 2, False), TaeBlock(w), TaeBlock(w), Skip(),
            _conv(w, LATENT_CHANNELS),
        )})  # fmt: skip
        up = nn.Upsample(scale_factor=2)
        self.decoder = nn.ModuleDict({"layers": nn.Sequential(
            _conv(LATENT_CHANNELS, w), nn.ReLU(),
            TaeBlock(w), TaeBlock(w), TaeBlock(w), up, _conv(w, w, 1, False),
            TaeBlock(w), TaeBlock(w), Skip(), up, _conv(w, half, 1, False),
            TaeBlock(half), TaeBlock(half), Skip(), up, _conv(half, full, 1, False),
            TaeBlock(full), _conv(full, 3),
        )})  # fmt: skip
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for module in self.modules():
            if isinstance(module, TaeBlock):
                nn.init.zeros_(module.conv[4].weight)
        nn.init.constant_(self.decoder["layers"][18].bias, 0.5)

    @classmethod
    def load(cls, path) -> "Autoencoder":
        """As train_autoencoder.py saved it."""
        saved = torch.load(path, map_location="cpu")
        model = cls(**saved.get("layout", {}))
        # Blocks that it did not have yet begin as those that are left out: they change nothing.
        model.load_state_dict(saved["model"], strict=False)
        return model

    def encode(self, pictures):
        return self.encoder["layers"](pictures)

    def decode(self, latents):
        return self.decoder["layers"](torch.tanh(latents / 3) * 3)
