#!/bin/sh
# Run the tests; if at most five have failed, run those once more, alone. What fails twice is a mistake. What fails
# once is named: a busy machine has reached one of its clocks, which is too short.
# Usage: tests/second_try.sh FOLDER_OF_PYTHON ARGUMENTS_OF_PYTEST...
set -u
bin=$1
shift
most=5
failures=.pytest_cache/v/cache/lastfailed

# pytest keeps the failures of tests that it did not run this time: a second try would run those, too.
case " $* " in
*" --lf "* | *" --last-failed "*) ;;
*) rm -f "$failures" ;;
esac

"$bin/coverage" run -m pytest "$@"
status=$?
# 1 is for tests that failed. An interruption, wrong arguments or no tests at all are not better a second time.
[ "$status" -eq 1 ] && [ -f "$failures" ] || exit "$status"

names=$("$bin/python" -c 'import json, sys; print(*json.load(open(sys.argv[1])), sep="\n")' "$failures")
# What is no test, such as a file that cannot be read, is no mistake of a clock: pytest would run all tests for it.
echo "$names" | grep -qv :: && exit "$status"
[ -n "$names" ] && [ "$(echo "$names" | wc -l)" -le "$most" ] || exit "$status"

printf '\nOnce more, alone:\n%s\n' "$names"
"$bin/python" -m pytest -n 0 -m 'not soak' --last-failed || exit
printf '\nfailed at first, passed alone: a clock too short\n%s\n' "$names"
