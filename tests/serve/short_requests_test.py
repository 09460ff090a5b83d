#!/usr/bin/env python3
"""Thousands of short requests in a mix of all dialects, with what they leave behind; short_requests.py asks a million."""
import os

from serving import SANITIZED, check, main, test
from short_requests import GROWTH_BYTES, growth, soak_short

N = 50000 if os.environ.get('RUNNEL_TEST_FULL') else 3000


@test
def thousands_of_short_requests_say_what_the_first_ones_said_and_leave_nothing():
    said = []
    points = soak_short(N, note=said.append)
    check(points[-1][0] >= N, said)
    if not SANITIZED:       # its allocator keeps what was freed for a while
        check(growth(points) <= GROWTH_BYTES, growth(points), 'bytes;', '; '.join(said))


main()
