#!/usr/bin/env python3
"""A few seconds of what `./dev soak` does for minutes."""
from serving import check, main, test
from soak import SHOWN, soak

SEED, SECONDS = 16, 5


@test
def seconds_of_random_traffic_lose_and_change_nothing():
    t = soak(SECONDS, SEED)
    check(not t.failures, len(t.failures), 'failures:', '; '.join(t.failures[:SHOWN]))


main()
