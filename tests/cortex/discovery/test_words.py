from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cortex.discovery.words import MAX_WORD_CHARACTERS, stem, words


@pytest.mark.parametrize(
    "name",
    [
        "listPullRequests",
        "list_pull_requests",
        "list-pull-requests",
        "LIST_PULL_REQUESTS",
        "list.pull.requests",
        "ListPullRequest",
        "list the pull requests",
        "list PRs",
    ],
)
def test_a_name_gives_the_same_words_however_it_is_spelled(name):
    assert words(name) == ["list", "pull", "request"]


def test_capitals_in_a_row_are_one_word_and_the_last_begins_the_next():
    assert words("getHTTPResponse") == ["get", "http", "respons"]
    assert words("parseJSON2CSV") == words("parse json2 csv")


def test_letters_and_digits_that_are_one_name_stay_one():
    assert words("S3") == ["s3"]
    assert "ec2" in words("list_ec2_instances")
    assert words("k8s pods") == ["kubernet", "pod"]
    assert words("file2") == ["file2", "fil"]


@pytest.mark.parametrize(
    "forms",
    [
        "commit commits committed committing",
        "create creates created creating creation",
        "delete deleted deletion deleting",
        "query queries queried querying",
        "notify notified notification notifications",
        "deploy deploys deployment deployments deployed",
        "issue issues",
        "branch branches",
        "address addresses",
        "class classes",
        "box boxes",
        "file files filed filing",
        "pay pays paid payment payments paying",
        "call calls called calling",
        "search searches searched searching",
        "merge merged merging merges",
    ],
)
def test_forms_of_a_word_have_one_stem(forms):
    assert len({stem(form) for form in forms.split()}) == 1, {form: stem(form) for form in forms.split()}


@pytest.mark.parametrize(
    "different",
    [
        ("comment", "commit"),
        ("document", "commit"),
        ("string", "strike"),
        ("bring", "bride"),
        ("status", "state"),
        ("process", "proceed"),
        ("feed", "fee"),
        ("moment", "mom"),
        ("station", "state"),
        ("news", "new"),
        ("user", "use"),
    ],
)
def test_words_that_only_look_alike_stay_apart(different):
    one, other = different
    assert stem(one) != stem(other)


def test_stop_words_are_left_out():
    assert words("please can you show me what the weather's like in there") == words("show weather")


def test_accents_do_not_matter_and_other_scripts_are_words():
    assert words("résumé") == words("resume")
    assert words("файлы проекта") == words("ФАЙЛЫ Проекта") != []


def test_a_word_without_end_is_cut():
    assert words("x" * 10_000) == ["x" * MAX_WORD_CHARACTERS]


@given(st.text(max_size=300))
def test_any_text_gives_words_that_are_found_again(text):
    found = words(text)
    assert all(found)
    assert words(text) == found
    assert all(len(word) <= MAX_WORD_CHARACTERS for word in found)
