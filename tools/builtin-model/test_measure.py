"""The statistics tell the generator's own pictures apart."""
import functools
import sys
import pathlib

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from fit_measure import collect  # noqa: E402
from measure import ATTRIBUTES, truth  # noqa: E402


@functools.cache
def sample():
    return collect(1800, 77)


@pytest.mark.parametrize("attribute,value", [(a, v) for a, (values, _) in ATTRIBUTES.items() for v in values])
def test_holds(attribute, value):
    scenes, stats = sample()
    holds = ATTRIBUTES[attribute][1]
    has = np.array([truth(s, attribute) == value for s in scenes])
    says = np.array([holds(m, value) for m in stats])
    assert has.sum() >= 15
    assert says[has].mean() >= 0.95
    assert (~says[~has]).mean() >= 0.90
