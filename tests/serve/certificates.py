"""tests/serve/certificates.py - a certificate for a server under test."""
import subprocess

from serving import Skip


def make_certificate(folder):
    try:
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', folder / 'key.pem', '-out',
                        folder / 'cert.pem', '-days', '2', '-subj', '/CN=localhost'], check=True, capture_output=True, timeout=60)
    except FileNotFoundError as e:
        raise Skip('openssl is not here') from e
