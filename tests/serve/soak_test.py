#!/usr/bin/env python3
"""What `./dev soak` asks is everything there is, and a few seconds of what it does for minutes."""
import json
import re

from api import chat_model, error_of, with_holes
from rank_model import reranker
from request_fields import ROUTES
from serving import ROOT, Folder, check, equal, main, runnel, test
from soak import SHOWN, Server, soak
from soak_options import NOT_DRAWN, VALUES
from traffic import ALIAS, COVERED, DENIED, LOOKS

SEED, SECONDS = 16, 5


def routes():
    """Of the server's table."""
    return set(re.findall(r'^    \{"(\w+)", "(/[^"]*)"', (ROOT / 'src/serve/routes.c').read_text(), re.M))


@test
def the_traffic_asks_every_route_of_the_server():
    check(len(routes()) > 40, routes())
    equal(sorted(routes() - COVERED), [], 'nobody asks (request_fields.py has what takes a body, LOOKS of traffic.py what does not)')
    equal(sorted(COVERED - routes()), [], 'no longer there')


@test
def each_route_answers_what_the_traffic_expects():
    with Folder() as folder, Folder() as other, Server('-m', f'm={chat_model(folder)}', '-m', f'r={reranker(other)}', '-m', f'h={with_holes(other)}',
                                                       '--alias', f'{ALIAS}=m', '-t', '1', '-c', '256', program=True) as s, s.connect() as c:
        for (method, _), (paths, statuses) in LOOKS.items():
            seen = [c.ask(method, path).status for path in paths]
            check(set(seen) <= set(statuses), method, paths, seen)
        for path, body, statuses in [(path, body, statuses) for (_, path), (body, statuses) in DENIED.items()] + [
                (path, ROUTES[path].least, (200,)) for path in ROUTES]:
            answer = c.ask('POST', path, 'Content-Type: application/json', body=json.dumps(body))
            check(answer.status in statuses, path, answer.status, answer.body)
            check(answer.status == 200 or error_of(answer.json)['message'], path, answer.body)


@test
def each_option_of_the_server_is_drawn_or_has_a_reason_not_to_be():
    known = set(re.findall(r'^ +(?:-\w, )?(--[a-z-]+)', runnel('serve', '--help').text, re.M))
    check(len(known) > 40, known)
    equal(sorted(known - set(VALUES) - set(NOT_DRAWN)), [])
    equal(sorted((set(VALUES) | set(NOT_DRAWN)) - known), [], 'no longer there')
    equal(sorted(set(VALUES) & set(NOT_DRAWN)), [])


@test
def seconds_of_random_traffic_lose_and_change_nothing():
    t = soak(SECONDS, SEED)
    check(not t.failures, len(t.failures), 'failures:', '; '.join(t.failures[:SHOWN]))


main()
