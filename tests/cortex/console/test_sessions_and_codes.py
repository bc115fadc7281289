"""Sessions and codes under a clock of the test: how long they last, how often they may be wrong, and for what they are."""

from __future__ import annotations

import pytest

from cortex.console.codes import CODE_S, MAX_OPEN, MAX_WRONG, CodeRefused, Codes
from cortex.console.sessions import COOKIE, IDLE_S, LOGIN_S, MAX_SESSIONS, SESSION_S, OwnerSessions


class Now:
    at = 1_000_000.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def sessions(now) -> OwnerSessions:
    return OwnerSessions(now)


def logged_in(sessions: OwnerSessions):
    session = sessions.log_in(sessions.new_link_token(), "a browser")
    assert session is not None
    return session


def cookie(session) -> list[str]:
    return [f"other=1; {COOKIE}={session.token}"]


def test_a_link_lasts_two_minutes(sessions, now):
    token = sessions.new_link_token()
    now.at += LOGIN_S - 1
    late = sessions.new_link_token()
    assert sessions.log_in(token, "") is not None
    now.at += LOGIN_S
    assert sessions.log_in(late, "") is None


def test_a_session_ends_after_an_hour_without_use_and_after_twelve_in_any_case(sessions, now):
    idle = logged_in(sessions)
    now.at += IDLE_S - 1
    assert sessions.of(cookie(idle)) is idle
    now.at += IDLE_S
    assert sessions.of(cookie(idle)) is None
    used = logged_in(sessions)
    for _ in range(SESSION_S // (IDLE_S - 1)):
        now.at += IDLE_S - 1
        assert sessions.of(cookie(used)) is used
    now.at += IDLE_S - 1
    assert sessions.of(cookie(used)) is None


def test_there_are_at_most_three_sessions_and_the_one_used_least_lately_makes_way(sessions, now):
    found = []
    for _ in range(MAX_SESSIONS):
        found.append(logged_in(sessions))
        now.at += 1
    sessions.of(cookie(found[0]))
    now.at += 1
    fourth = logged_in(sessions)
    assert sessions.all() == [found[0], found[2], fourth]
    assert sessions.of(cookie(found[1])) is None
    sessions.end_others(fourth)
    assert sessions.all() == [fourth]


@pytest.mark.parametrize(
    "text", ["", "x", f"{COOKIE}=", f"{COOKIE}=x", "cortex={token}", "{name}={token}; {name}={token}"]
)
def test_a_cookie_that_is_not_exactly_one_of_ours_opens_nothing(text, sessions):
    session = logged_in(sessions)
    assert sessions.of([text.format(name=COOKIE, token=session.token)]) is None
    assert sessions.of([f"{COOKIE}={session.token}"]) is session


@pytest.fixture
def codes(sessions, now) -> Codes:
    return Codes(sessions, now)


def wrong(decision) -> str:
    return f"{(int(decision.code) + 1) % 10**6:06}"


def test_a_code_is_for_one_decision_of_one_session_once_and_for_two_minutes(codes, sessions, now):
    told = []
    codes.tell = told.append
    session, other = logged_in(sessions), logged_in(sessions)
    first = codes.ask(session, "approve", "a", {"hash": "x"}, "approve a")
    second = codes.ask(session, "approve", "b", {}, "approve b")
    assert told == [first, second]
    assert len(first.code) == 6
    assert first.code.isdecimal()
    if first.code != second.code:
        with pytest.raises(CodeRefused, match="not its code"):
            codes.take(session, second.id, first.code)
    with pytest.raises(CodeRefused, match="does not wait"):
        codes.take(other, first.id, first.code)
    assert codes.take(session, first.id, f" {first.code[:3]} {first.code[3:]} ") is first
    with pytest.raises(CodeRefused, match="does not wait"):
        codes.take(session, first.id, first.code)
    now.at += CODE_S
    with pytest.raises(CodeRefused, match="does not wait"):
        codes.take(session, second.id, second.code)


def test_the_fifth_wrong_code_in_a_row_ends_the_session_whichever_decisions_they_were_for(codes, sessions):
    session = logged_in(sessions)
    for at in range(MAX_WRONG - 1):
        decision = codes.ask(session, "revive", "", {}, "revive")
        with pytest.raises(CodeRefused, match=f"{MAX_WRONG - 1 - at} tries are left"):
            codes.take(session, decision.id, wrong(decision))
        codes.drop(session)
    assert sessions.is_open(session)
    last = codes.ask(session, "revive", "", {}, "revive")
    with pytest.raises(CodeRefused, match="session has ended"):
        codes.take(session, last.id, wrong(last))
    assert not sessions.is_open(session)
    with pytest.raises(CodeRefused):
        codes.take(session, last.id, last.code)


def test_a_right_code_begins_the_count_anew(codes, sessions):
    session = logged_in(sessions)
    for _ in range(3):
        decision = codes.ask(session, "revive", "", {}, "revive")
        for _ in range(MAX_WRONG - 1):
            with pytest.raises(CodeRefused):
                codes.take(session, decision.id, wrong(decision))
        assert codes.take(session, decision.id, decision.code) is decision


def test_few_decisions_wait_at_a_time_so_that_nobody_floods_the_terminal(codes, sessions, now):
    session = logged_in(sessions)
    for _ in range(MAX_OPEN):
        codes.ask(session, "revive", "", {}, "revive")
    with pytest.raises(CodeRefused, match="wait for their codes"):
        codes.ask(session, "revive", "", {}, "revive")
    now.at += CODE_S
    codes.ask(session, "revive", "", {}, "revive")
