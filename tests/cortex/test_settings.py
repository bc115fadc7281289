from __future__ import annotations

import re
import tomllib

import pytest

from cortex import Settings, SettingsError, load_settings
from sandbox import HostRule, data_file

FILE = data_file("config", "defaults.toml").read_text(encoding="utf-8")


def flat(values, above=""):
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def commented() -> set[str]:
    """The keys that stand in the file as a comment, since their default is "none" or depends on the machine."""
    found, section = set(), ""
    for line in FILE.splitlines():
        if heading := re.match(r"\[([\w.]+)\]", line):
            section = heading[1] + "."
        elif setting := re.match(r"# (\w+) = ", line):
            found.add(section + setting[1])
    return found


def test_the_file_of_defaults_says_what_the_code_does():
    said = dict(flat(tomllib.loads(FILE)))
    does = dict(flat(Settings().model_dump(mode="json")))
    assert said == {name: value for name, value in does.items() if name in said}
    # The entries of the allowlist have keys of their own, which the file explains beside it.
    assert does.keys() - said.keys() == commented() - {
        f"sandbox.network.{part}" for part in ("allow", *HostRule.model_fields)
    }
    assert {name for name in commented() if name in said} == {"sandbox.network.allow"}


def test_a_file_changes_the_defaults(tmp_path):
    (tmp_path / "c.toml").write_text("[sandbox]\npool_size = 3\n")
    assert load_settings(tmp_path / "c.toml", {}).sandbox.pool_size == 3


def test_the_environment_names_the_file_and_changes_it(tmp_path):
    (tmp_path / "c.toml").write_text("[sandbox]\npool_size = 3\nmax_tool_calls = 7\n")
    environment = {"CORTEX_CONFIG": str(tmp_path / "c.toml"), "CORTEX_SANDBOX__POOL_SIZE": "2", "CORTEX_HOME": "x"}
    settings = load_settings(None, environment)
    assert (settings.sandbox.pool_size, settings.sandbox.max_tool_calls) == (2, 7)


def test_lists_in_the_environment_are_separated_by_commas():
    environment = {
        "CORTEX_SANDBOX__REQUIRE": "landlock, seccomp",
        "CORTEX_SANDBOX__NETWORK__ALLOW": "api.example.com, http://localhost:8000",
        "CORTEX_SANDBOX__NETWORK__DENY": "*.example.org",
    }
    sandbox = load_settings(None, environment).sandbox
    assert sandbox.require == ("landlock", "seccomp")
    assert [rule.host for rule in sandbox.network.allow] == ["api.example.com", "localhost"]
    assert [rule.host for rule in sandbox.network.deny] == ["*.example.org"]


def test_the_caller_has_the_last_word():
    assert load_settings(None, {"CORTEX_SANDBOX__POOL_SIZE": "2"}, sandbox={"pool_size": 0}).sandbox.pool_size == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sandbox]\npol_size = 3", 'Unknown setting "sandbox.pol_size"'),
        ("[sandbx]\npool_size = 3", 'Unknown setting "sandbx"'),
        ("[sandbox]\npool_size = -1", 'Setting "sandbox.pool_size": Input should be greater than or equal to 0'),
        ("[sandbox]\npool_size = 'many'", 'Setting "sandbox.pool_size"'),
        ("[sandbox", "Cannot read settings from"),
    ],
)
def test_a_mistake_is_named(tmp_path, text, message):
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(SettingsError, match="^" + message.replace("[", r"\[").replace(".", r"\.")):
        load_settings(tmp_path / "c.toml", {})


def test_a_missing_or_unreadable_file_is_named(tmp_path):
    with pytest.raises(SettingsError, match=r'Cannot read settings from ".*nowhere.toml": No such file'):
        load_settings(tmp_path / "nowhere.toml", {})
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="Cannot read settings"):
        load_settings(tmp_path / "bad.toml", {})


def test_an_unknown_variable_of_ours_is_a_mistake_and_others_are_left_alone():
    with pytest.raises(SettingsError, match="Unknown setting"):
        load_settings(None, {"CORTEX_SANDBOX__POLL_SIZE": "2"})
    with pytest.raises(SettingsError, match='Unknown setting "pool_size"'):
        load_settings(None, {"CORTEX_POOL_SIZE": "2"})
    with pytest.raises(SettingsError, match="which is a single value"):
        load_settings(None, {"CORTEX_SANDBOX__POOL_SIZE": "2", "CORTEX_SANDBOX__POOL_SIZE__X": "1"})
    assert load_settings(None, {"OTHER_SANDBOX__POLL_SIZE": "2"})


def test_settings_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        Settings().sandbox.pool_size = 5
