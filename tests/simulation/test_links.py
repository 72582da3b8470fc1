"""Token buckets: fast until the tokens are spent, and filled again while little is sent."""

from __future__ import annotations

import numpy as np

from planner.simulation.links import Capacities


def bucket() -> Capacities:
    """A link of 10 bytes/s that bursts to 30 while its 100 tokens last, and one without a bucket."""
    return Capacities.of(np.array([10.0, 7.0]), burst=np.array([30.0, 7.0]), size=np.array([100.0, 0.0]))


def test_a_bucket_lasts_as_long_as_its_tokens() -> None:
    link = bucket()
    assert link.at_present().tolist() == [30.0, 7.0]
    load = np.array([30.0, 7.0])
    assert link.change_in_s(load) == 5.0  # 100 / (30 - 10)
    link.pass_s(5.0, load)
    assert link.at_present().tolist() == [10.0, 7.0]
    assert link.change_in_s(np.array([10.0, 7.0])) == np.inf


def test_tokens_come_back_while_less_is_sent_but_no_more_than_fit() -> None:
    link = bucket()
    link.pass_s(4.0, np.array([30.0, 0.0]))  # 100 - 4 x 20 = 20 are left
    link.pass_s(2.0, np.array([4.0, 0.0]))  # + 2 x 6
    assert link.tokens.tolist() == [32.0, 0.0]
    link.pass_s(1000.0, np.zeros(2))
    assert link.tokens.tolist() == [100.0, 0.0]
