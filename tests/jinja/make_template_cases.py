#!/usr/bin/env python3
"""Computes template_cases.jsonl again: the first line is the variables, each other one a template and what Jinja2 makes of it.

usage: make_template_cases.py FILE [TEMPLATE...]: with TEMPLATEs, adds them. Needs jinja2 3.1.6; the environment is the one that transformers
builds: an immutable sandbox, trim_blocks, lstrip_blocks, loop controls, tojson, raise_exception and strftime_now.
"""
import datetime
import json
import sys

import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2025, 7, 4, 9, 5, 6)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("said"), [], [], body).set_lineno(line)

    def said(self, caller):
        return caller()


class Raised(Exception):
    pass


def raise_exception(message):
    raise Raised(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
env.filters["tojson"] = tojson
env.globals.update(raise_exception=raise_exception, strftime_now=NOW.strftime)


def outcome(template, variables):
    try:
        return {"output": env.from_string(template).render(**json.loads(json.dumps(variables)))}
    except Raised as e:
        return {"error": {"kind": "raise_exception", "message": str(e)}}
    except Exception as e:
        return {"error": {"kind": type(e).__name__}}


def main():
    path, added = sys.argv[1], sys.argv[2:]
    first, *lines = [json.loads(line) for line in open(path, encoding="utf-8", newline="\n") if line.strip()]
    templates = [c["template"] for c in lines] + added
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        for row in [first, *({"template": t, **outcome(t, first)} for t in templates)]:
            f.write(json.dumps(row, ensure_ascii=True) + "\n")


main()
