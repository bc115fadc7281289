#!/bin/sh
# See that there is a Chromium for the tests of the owner's console. Where it is missing, root on Debian installs it; for
# all others those tests are skipped, and one line says so.
# Usage: tests/browser.sh [--must]: with --must it is a failure where it can be installed and was not.
set -u
has_browser() { command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1; }

has_browser && exit 0
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing chromium for the tests of the console"
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium >/dev/null 2>&1 && has_browser && exit 0
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium; } >/dev/null 2>&1
    has_browser && exit 0
    [ "${1:-}" = --must ] && { echo "Cannot install chromium: apt-get install -y chromium" >&2; exit 1; }
fi
echo "*** SKIPPED: tests of the console in a browser. Install Chromium (on Debian: apt-get install chromium) ***" >&2
