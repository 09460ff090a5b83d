#!/usr/bin/env python3
"""Published clients, each with every feature that it has, against `runnel serve`. `./dev setup --clients` installs them."""
from table import TABLE, driver
from talk import FEATURES, hold, run_tests

for client in TABLE:
    if set(client.features) == set(FEATURES):
        hold(client.name, *driver(client), client.features)
run_tests()
