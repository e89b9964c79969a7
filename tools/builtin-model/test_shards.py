"""Shards hold pictures of every shape."""

from shards import OTHERS, jobs, size_of


def test_shards_of_several_seeds_have_every_shape():
    for large in (0, 3, 4):
        sizes = [jobs(shard, first, first, large)[0][2:] for first in (0, 20, 40, 60, 80) for shard in range(20)]
        assert set(OTHERS) <= set(sizes), large
        assert sizes == [size_of(shard, large) for shard in range(100)]
