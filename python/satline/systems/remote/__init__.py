"""A remote host as the system under test: over OpenSSH's own client, with nothing left there afterwards."""
