"""Contents of pictures, and bounds of captions."""

import pytest
import torch

from parts import PARTS
from ranges import CONTENTS, LEAST, ONCE, Ranges, amounts, spreads

DISC = ONCE[0]


def shares(*places, side: int = 16):
    """Shares of a picture of `side` x `side` patches with sky everywhere but a disc at some (row, column)."""
    of = torch.zeros(1, side * side, PARTS)
    of[..., 0] = 1
    for row, column in places:
        of[0, row * side + column] = torch.eye(PARTS)[DISC]
    return of.requires_grad_()


def test_amounts_count_patches_and_what_is_missing_still_has_a_gradient():
    assert amounts(shares((2, 3), (2, 4)))[0, DISC].item() == pytest.approx(torch.tensor(2 + LEAST).log().item(), abs=1e-5)
    nothing = shares()
    lacking = amounts(nothing)[0, DISC]
    assert lacking.item() == pytest.approx(torch.tensor(LEAST).log().item(), abs=1e-5)
    lacking.backward()
    assert (nothing.grad[..., DISC] > 1000).all()


def test_spreads_tell_two_suns_from_one():
    together, apart, none = (spreads(shares(*places), 16, 16)[0, 0].item() for places in ([(2, 3), (2, 4)], [(2, 3), (2, 11)], []))
    assert none == 0 and together < 0.3 and apart > 2


def test_only_what_lies_outside_the_bounds_is_penalised():
    torch.manual_seed(0)
    ranges = Ranges(torch.arange(10))
    ids, lengths = torch.tensor([[1, 2, 3, 0]]), torch.tensor([3])
    lower, upper = ranges(ids, lengths)
    lower, upper = torch.minimum(lower, upper), torch.maximum(lower, upper)
    ranges.forward = lambda *_: torch.stack([lower, upper])
    assert ranges.outside((lower + upper) / 2, ids, lengths).abs().max() == 0
    assert torch.allclose(ranges.outside(upper + 2, ids, lengths), torch.full((1, CONTENTS), 2.0), atol=1e-5)
    assert torch.allclose(ranges.outside(lower - 3, ids, lengths), torch.full((1, CONTENTS), 3.0), atol=1e-5)


def test_bounds_do_not_depend_on_padding():
    ranges = Ranges(torch.arange(10))
    lengths = torch.tensor([3])
    assert torch.allclose(ranges(torch.tensor([[1, 2, 3, 0]]), lengths), ranges(torch.tensor([[1, 2, 3, 9, 9]]), lengths), atol=1e-5)
