#!/usr/bin/env python3
"""tests/clients/python/driver.py CLIENT - does with one Python client what its standard input says, a line of JSON each.

A line names a feature, the server and what to say; CLIENT.py beside this file has a function of the feature's name. The answer is a line
of JSON, too: {"got": value}, or {"raised": [names of the class and its bases], "message": text}. A line "version" gives those of packages.
"""
import asyncio
import gc
import importlib
import importlib.metadata
import inspect
import json
import os
import sys
import types


def call(function, at):
    value = function(at)
    return asyncio.run(value) if inspect.isawaitable(value) else value


def main():
    gc.disable()        # httpcore waits for its own lock when a stream that a client left unread is collected within the next request
    out = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)       # what packages print is no answer
    client = importlib.import_module(sys.argv[1])
    for line in sys.stdin:
        job = json.loads(line)
        at = types.SimpleNamespace(**job)
        try:
            answer = {'got': call(getattr(client, job['feature']), at)}
        except Exception as e:
            answer = {'raised': [k.__name__ for k in type(e).__mro__], 'message': str(e)}
        out.write(json.dumps(answer) + '\n')
        out.flush()
        gc.collect()


main()
