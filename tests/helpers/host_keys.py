"""Public host keys of machines that no longer exist."""

ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBmItJU0myv4sDO9M9TgH1XMziE1UYvZkfK5mj3xt0B7"
ECDSA = (
    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBBY0gO3BZB6D1VO9x8BMgLC228/"
    "MvwqlvUUvd82a1WHpbH/nXkqBd8xxNwwMvXcSVA5+mhFR6tGfb12rfdx0lhE="
)
