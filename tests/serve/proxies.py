"""tests/serve/proxies.py - what tests that start a proxy share."""
import os
import shutil
import socket

from serving import Skip


def program(variable, name):
    found = os.environ.get(variable) or shutil.which(name) or shutil.which(name, path='/usr/sbin')
    if not found:
        raise Skip(f'{name} is not here (${variable})')
    if not shutil.which('openssl'):
        raise Skip('openssl is not here')
    return found


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as s:
        return s.getsockname()[1]
