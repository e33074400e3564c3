"""The token of Ray clusters that tests start: Ray keeps the first one that a process has used."""

import secrets

TOKEN = secrets.token_hex(32)
