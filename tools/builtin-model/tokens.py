"""The tokenizer that the engine uses for this family (Qwen2, byte-level BPE), built from the merge list that the engine itself carries.

Nothing is copied into the repository: the list is read from the crate `diffusion-rs-sys` in cargo's own folder.
"""

import functools
import glob
import os
import re

from tokenizers import Regex, Tokenizer, models, pre_tokenizers

START, END = 151644, 151645  # <|im_start|>, <|im_end|>
VOCABULARY = 151674  # byte and merge tokens (151643), then the engine's 31 special ones
PADDING = 32  # the DiT pads its text to a multiple of this with a token of its own

# The pre-tokenizer of Qwen2 as its tokenizer.json states it.
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def _merges_header() -> str:
    home = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
    found = sorted(glob.glob(f"{home}/registry/src/*/diffusion-rs-sys-0.1.20/stable-diffusion.cpp/src/tokenizers/vocab/qwen*merges.hpp"))
    if not found:
        raise SystemExit("The engine's sources are not in cargo's folder yet: run `cargo fetch` in the repository and try again.")
    return found[0]


@functools.lru_cache(maxsize=1)
def _tokenizer() -> Tokenizer:
    text = open(_merges_header(), encoding="ascii").read()
    body = text[text.index("{") + 1 : text.rindex("}")]
    raw = bytes(int(number, 0) for number in re.findall(r"0[xX][0-9a-fA-F]+|\b\d+\b", body))
    merges = [tuple(line.split(" ", 1)) for line in raw.decode("utf-8").rstrip("\0").split("\n") if " " in line]
    alphabet = list(range(ord("!"), ord("~") + 1)) + list(range(161, 173)) + list(range(174, 256))
    letters = [chr(byte) for byte in alphabet] + [chr(256 + n) for n in range(256 - len(alphabet))]
    vocabulary = {token: n for n, token in enumerate(letters + ["".join(pair) for pair in merges])}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return tokenizer


def _plain(text: str) -> list[int]:
    return _tokenizer().encode(text, add_special_tokens=False).ids


@functools.lru_cache(maxsize=1)
def _frame() -> tuple[list[int], list[int]]:
    newline = _plain("\n")
    return [START] + _plain("user") + newline, [END] + newline + [START] + _plain("assistant") + newline


def tokens(prompt: str) -> list[int]:
    """The token ids that the engine makes of a prompt, its chat frame included."""
    before, after = _frame()
    return before + _plain(prompt) + after


def padded(count: int) -> int:
    """How many text positions the DiT sees for `count` tokens."""
    return -(-count // PADDING) * PADDING
