#!/usr/bin/env python3
"""Thousands of short requests in a mix of all dialects, with what they leave behind; short_requests.py asks a million."""
import os

from serving import SANITIZED, check, equal, main, test
from short_requests import POINTS, RISE_BYTES, WARM_UP, rise, soak_short

N = 50000 if os.environ.get('RUNNEL_TEST_FULL') else 3000


@test
def thousands_of_short_requests_say_what_the_first_ones_said_and_leave_nothing():
    said = []
    points = soak_short(N, note=said.append)
    check(points[-1][0] >= N, said)
    if not SANITIZED:       # its allocator keeps what was freed for a while
        check(rise(points) <= RISE_BYTES, rise(points), 'bytes;', '; '.join(said))


@test
def a_leak_is_seen_and_what_was_needed_once_is_not():
    def points(*sizes):
        return [(i, size, 0, 0) for i, size in enumerate(sizes)]
    leak = [20 << 20] * WARM_UP + [(20 << 20) + (i + 1) * (RISE_BYTES + 1) for i in range(POINTS - WARM_UP)]
    once = [20 << 20] * (POINTS // 2) + [40 << 20] * (POINTS // 2)
    check(rise(points(*leak)) > RISE_BYTES, rise(points(*leak)))
    equal(rise(points(*once)), 0)


main()
