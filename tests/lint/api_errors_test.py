#!/usr/bin/env python3
"""tests/lint/api_errors_test.py - docs/server-api.md lists each error that the server can give: status and code."""
import re

from sentences import ROOT, main, test


@test
def the_page_lists_the_statuses_and_codes_of_the_servers_table(folder):
    source = (ROOT / 'src/serve/api/api_error.c').read_text()
    table = {(status, code) for status, code in re.findall(r'= \{(\d{3}), [^{}]*?"(\w+)"\}', source)}
    page = (ROOT / 'docs/server-api.md').read_text()
    rows = re.findall(r'^\| ([\d, ]+) \| (`[^|]+`) \|', page, re.M)
    listed = {(status, code) for statuses, codes in rows for status in statuses.split(', ') for code in re.findall(r'`(\w+)`', codes)}
    assert len(table) > 25 and listed == table, f'not listed: {sorted(table - listed)}, not in the table: {sorted(listed - table)}'


main()
