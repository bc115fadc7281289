from __future__ import annotations

import json
import os
import re
import tomllib
import traceback
from pathlib import Path

import pytest

from cortex import Settings, SettingsError, load_settings
from cortex.home.home import Home, HomeError
from cortex.settings.home_path import default_home
from cortex.settings.mcp_servers import McpServerSettings
from cortex.settings.sections import AuditSettings
from cortex.settings.settings import explain_settings
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


def test_defaults_toml_has_the_defaults_of_the_code():
    said = dict(flat(tomllib.loads(FILE)))
    does = dict(flat(Settings().model_dump(mode="json")))
    assert said == {name: value for name, value in does.items() if name in said}
    # The entries of the allowlist, and MCP servers, have keys of their own, which the file explains beside them.
    assert does.keys() - said.keys() == commented() - {
        *(f"sandbox.network.{part}" for part in ("allow", *HostRule.model_fields)),
        *(f"mcpServers.{part}" for part in McpServerSettings.model_fields),
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
        ("[sandbox]\npol_size = 3", 'Unknown setting "sandbox.pol_size": did you mean "sandbox.pool_size"?'),
        ("[sandbx]\npool_size = 3", 'Unknown setting "sandbx": did you mean "sandbox"?'),
        ("[energy]\nrecharge = 1", 'Unknown setting "energy.recharge": did you mean "energy.recharge_per_minute"?'),
        ("[energy.meterd]\nfloor = 0", 'Unknown setting "energy.meterd": did you mean "energy.metered"?'),
        # The right name in the wrong section, and in none.
        ("[execute]\nmax_rounds = 1", 'Unknown setting "execute.max_rounds": did you mean "loop.max_rounds"?'),
        ("max_rounds = 1", 'Unknown setting "max_rounds": did you mean "loop.max_rounds"?'),
        (
            '[[sandbox.network.allow]]\nhost = "a.example"\nmethod = ["GET"]',
            'Unknown setting "sandbox.network.allow.method": did you mean "sandbox.network.allow.methods"?',
        ),
        (
            '[mcpServers.log]\ncomand = "x"',
            'Unknown setting "mcpServers.log.comand": did you mean "mcpServers.log.command"?',
        ),
        (
            '[mcpServers.log]\ntype = "sse"\nurl = "https://x"',
            'Setting "mcpServers.log.type": "sse" is a transport that MCP has given up',
        ),
        (
            '[mcpServers.git-hub]\ncommand = "x"\n[mcpServers.git_hub]\ncommand = "y"',
            'Setting "mcpServers": the servers "git-hub" and "git_hub" are called the same but for case, - and _',
        ),
        ("qqq = 1", 'Unknown setting "qqq": see cortex config --defaults'),
        ("energy = 0.5", 'Setting "energy": it is a section, and not a single value'),
        ("[energy.metered]\nfloor = 0.9", 'Setting "energy.metered": "floor" (0.9) is above "ceiling" (0.25)'),
        (
            "[execute]\nmax_timeout_isolated_ms = 50",
            'Setting "execute": "min_timeout_ms" (100) is above "max_timeout_isolated_ms" (50)',
        ),
        (
            "[execute]\nmin_timeout_ms = 6000\nmax_timeout_isolated_ms = 7000\nmax_timeout_network_ms = 5999",
            'Setting "execute": "min_timeout_ms" (6000) is above "max_timeout_network_ms" (5999)',
        ),
        (
            '[tools.policies]\nshop = "maybe"',
            "Setting \"tools.policies.shop\": Input should be 'allow', 'ask' or 'deny'",
        ),
        ('[model]\nbase_url = "localhost"', 'Setting "model.base_url": it is not an address that begins with http://'),
        ('home = ""', 'Setting "home": it is not the path of a folder'),
        (
            'home = "~nobody-of-that-name/x"',
            'Setting "home": "~nobody-of-that-name/x" begins with the folder of a user',
        ),
        ("[sandbox]\npool_size = -1", 'Setting "sandbox.pool_size": Input should be greater than or equal to 0'),
        ("[sandbox]\npool_size = 'many'", 'Setting "sandbox.pool_size"'),
        ("[sandbox", "Cannot read settings from"),
    ],
)
def test_an_invalid_setting_is_named_in_the_error(tmp_path, text, message):
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(SettingsError, match="^" + re.escape(message)) as caught:
        load_settings(tmp_path / "c.toml", {})
    assert str(tmp_path / "c.toml") in str(caught.value)


def test_a_missing_or_unreadable_file_is_named(tmp_path):
    with pytest.raises(SettingsError, match=r'Cannot read settings from ".*nowhere.toml": No such file'):
        load_settings(tmp_path / "nowhere.toml", {})
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="Cannot read settings"):
        load_settings(tmp_path / "bad.toml", {})


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("CORTEX_SANDBOX__POLL_SIZE", "CORTEX_SANDBOX__POOL_SIZE"),
        ("CORTEX_SANDBOX_POOL_SIZE", "CORTEX_SANDBOX__POOL_SIZE"),
        ("CORTEX_SANDBX__POOL_SIZE", "CORTEX_SANDBOX__POOL_SIZE"),
        ("CORTEX_POOL_SIZE", "CORTEX_SANDBOX__POOL_SIZE"),
        ("CORTEX_ENERGY__RECHARGE", "CORTEX_ENERGY__RECHARGE_PER_MINUTE"),
        ("CORTEX_HOMES", "CORTEX_HOME"),
        ("CORTEX_CONFIGS", "CORTEX_CONFIG"),
    ],
)
def test_an_unknown_variable_of_ours_is_a_mistake_and_the_one_that_was_meant_is_named(name, meant):
    with pytest.raises(SettingsError, match=f'^Unknown setting "{name}": did you mean "{meant}"\\?$'):
        load_settings(None, {name: "2"})


def test_an_invalid_value_of_a_variable_is_reported_with_the_variables_name():
    with pytest.raises(SettingsError, match=r'^Setting "sandbox.pool_size": .* \(from CORTEX_SANDBOX__POOL_SIZE\)$'):
        load_settings(None, {"CORTEX_SANDBOX__POOL_SIZE": "many"})
    with pytest.raises(SettingsError, match=r"^Setting \"model.base_url\": .* \(from OPENAI_BASE_URL\)$"):
        load_settings(None, {"OPENAI_BASE_URL": "localhost"})


@pytest.mark.parametrize("order", [1, -1])
def test_a_variable_cannot_name_a_part_of_another(order):
    variables = [("CORTEX_SANDBOX__POOL_SIZE", "2"), ("CORTEX_SANDBOX__POOL_SIZE__X", "1")]
    with pytest.raises(SettingsError, match=r'__X" names a part of .*, which is a single value'):
        load_settings(None, dict(variables[::order]))


def test_variables_of_others_are_left_alone():
    assert load_settings(None, {"OTHER_SANDBOX__POLL_SIZE": "2"}) == load_settings(None, {})


def test_all_invalid_settings_are_reported_at_once(tmp_path):
    (tmp_path / "c.toml").write_text("[energy]\nlevel = 2\n[audit]\nflush_ms = 0\n")
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "c.toml", {"CORTEX_LOOP__ROUNDS": "1"})
    assert len(str(caught.value).splitlines()) == 3


def test_an_error_about_a_secret_does_not_repeat_the_secret(tmp_path):
    (tmp_path / "c.toml").write_text('[model]\napikey = "sk-secret"\n[audit]\nflush_ms = "sk-secret"')
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "c.toml", {})
    assert "sk-secret" not in "".join(traceback.format_exception(caught.value))


def test_policies_of_tools_are_a_table_with_or_without_quotes_and_a_text_in_the_environment(tmp_path):
    (tmp_path / "c.toml").write_text('[tools.policies]\n"shop.order" = "ask"\nshop.stock = "allow"\nclock = "deny"\n')
    policies = load_settings(tmp_path / "c.toml", {}).tools.policies
    assert policies == {"shop.order": "ask", "shop.stock": "allow", "clock": "deny"}
    # One more by its name, or all of them anew.
    policies = load_settings(tmp_path / "c.toml", {"CORTEX_TOOLS__POLICIES__CLOCK": "ask"}).tools.policies
    assert policies == {"shop.order": "ask", "shop.stock": "allow", "clock": "ask"}
    text = "shop.order=deny, shop.stock = allow,"
    policies = load_settings(tmp_path / "c.toml", {"CORTEX_TOOLS__POLICIES": text}).tools.policies
    assert policies == {"shop.order": "deny", "shop.stock": "allow"}
    with pytest.raises(SettingsError, match=r'"shop\.order" is not of the form name=policy'):
        load_settings(None, {"CORTEX_TOOLS__POLICIES": "shop.order"})


def test_the_callers_own_tables_are_not_touched():
    policies: dict[str, str] = {}
    load_settings(None, {"CORTEX_TOOLS__POLICIES__X": "ask"}, tools={"policies": policies})
    assert policies == {}


def test_an_empty_variable_is_none_where_none_is_possible(tmp_path):
    (tmp_path / "c.toml").write_text('[model]\nname = "m"\nbase_url = "http://m"\napi_key = "k"\ntemperature = 1\n')
    names = ("NAME", "BASE_URL", "API_KEY", "TEMPERATURE", "MAX_REPLY_TOKENS")
    model = load_settings(tmp_path / "c.toml", {f"CORTEX_MODEL__{name}": "" for name in names}).model
    assert (model.name, model.base_url, model.api_key, model.temperature) == (None, None, None, None)


def test_the_model_is_also_named_as_other_programs_name_it(tmp_path):
    others = {"OPENAI_API_KEY": "theirs", "OPENAI_BASE_URL": "https://theirs", "OPENAI_MODEL": "theirs"}

    def of(*layers):
        model = load_settings(*layers).model
        return model.name, model.base_url, model.api_key and model.api_key.get_secret_value()

    assert of(None, {}) == (None, None, None)
    assert of(None, dict.fromkeys(others, "")) == (None, None, None)
    assert of(None, others) == ("theirs", "https://theirs", "theirs")
    (tmp_path / "c.toml").write_text('[model]\nname = "file"\napi_key = "file"\n')
    assert of(tmp_path / "c.toml", others) == ("file", "https://theirs", "file")
    assert of(tmp_path / "c.toml", {**others, "CORTEX_MODEL__NAME": "ours"}) == ("ours", "https://theirs", "file")


def test_a_key_is_never_printed():
    settings = load_settings(None, {"OPENAI_API_KEY": "sk-secret"})
    assert "sk-secret" not in f"{settings} {settings!r} {settings.model_dump_json()}"


def test_the_home_is_the_users_data_folder_unless_the_owner_sets_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.toml").write_text('home = "from-file"\n')
    file = tmp_path / "c.toml"

    def of(config=None, home=None, **environment):
        return load_settings(config, {"HOME": "/users/me", **environment}, home).home

    assert of() == Path("/users/me/.local/share/motor-cortex")
    assert of(XDG_DATA_HOME="/data") == Path("/data/motor-cortex")
    assert of(XDG_DATA_HOME="relative") == Path("/users/me/.local/share/motor-cortex")
    assert of(CORTEX_HOME="") == of()
    assert of(XDG_DATA_HOME="/data", CORTEX_HOME="here/../there") == tmp_path / "there"
    assert of(file, XDG_DATA_HOME="/data") == tmp_path / "from-file"
    assert of(file, CORTEX_HOME="/variable") == Path("/variable")
    assert of(file, Path("option"), CORTEX_HOME="/variable") == tmp_path / "option"
    assert of(home=Path("~/x")) == Path.home() / "x"


def test_on_a_mac_the_home_is_where_programs_keep_their_data_there():
    environment = {"HOME": "/Users/me", "XDG_DATA_HOME": "/data"}
    assert default_home(environment, "darwin") == Path("/Users/me/Library/Application Support/motor-cortex")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be a user that does not exist")
def test_a_user_without_a_folder_can_do_what_needs_no_home(monkeypatch):
    monkeypatch.delenv("HOME", raising=False)
    os.setreuid(987_654_321, -1)
    try:
        home = load_settings(None, {}).home
    finally:
        os.setreuid(0, -1)
    assert home == Path("/dev/null/motor-cortex")
    with pytest.raises(HomeError, match=r'^Cannot keep state in "/dev/null/motor-cortex": Not a directory'):
        _ = Home(home).state


def test_a_home_in_a_file_begins_where_the_file_is(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "c.toml").write_text('home = "../b"\n')
    monkeypatch.chdir(tmp_path)
    assert load_settings(Path("a/c.toml"), {}).home == tmp_path / "b"
    (tmp_path / "a" / "c.toml").write_text('home = "~/b"\n')
    assert load_settings(Path("a/c.toml"), {}).home == Path.home() / "b"


def test_settings_without_files_have_the_same_home(monkeypatch, tmp_path):
    monkeypatch.setenv("CORTEX_HOME", str(tmp_path))
    assert Settings().home == tmp_path == load_settings().home
    assert Settings(home="relative").home == Path.cwd() / "relative"


def explained(*arguments, **overrides):
    return {key: (value, source) for key, value, source in explain_settings(*arguments, **overrides)}


def test_each_setting_is_explained_with_its_source(tmp_path):
    file = tmp_path / "c.toml"
    file.write_text('home = "h"\n[energy]\ncost_isolated = 0.1\ncost_network = 0.1\n[tools.policies]\na = "ask"\n')
    environment = {
        "CORTEX_ENERGY__COST_NETWORK": "0.2",
        "CORTEX_TOOLS__POLICIES__B": "deny",
        "CORTEX_SANDBOX__NETWORK__ALLOW": "api.example.com",
        "OPENAI_MODEL": "m",
    }
    settings = explained(file, environment, loop={"max_rounds": 3}, audit=AuditSettings(flush_ms=7))
    assert settings["home"] == (str(tmp_path / "h"), str(file))
    assert settings["energy.recharge_per_minute"] == (0.3, "default")
    assert settings["energy.cost_isolated"] == (0.1, str(file))
    assert settings["energy.cost_network"] == (0.2, "CORTEX_ENERGY__COST_NETWORK")
    assert settings["tools.policies"] == ({"a": "ask", "b": "deny"}, f"CORTEX_TOOLS__POLICIES__B, {file}")
    assert settings["sandbox.network.allow"] == ([{"host": "api.example.com"}], "CORTEX_SANDBOX__NETWORK__ALLOW")
    assert settings["sandbox.deno_path"] == (None, "default")
    assert settings["model.name"] == ("m", "OPENAI_MODEL")
    assert settings["loop.max_rounds"] == (3, "option")
    assert settings["audit.flush_ms"] == (7, "option")
    assert explained(home=tmp_path)["home"] == (str(tmp_path), "option")


def test_every_setting_is_explained():
    keys = {key for key, _ in flat(Settings().model_dump())}
    assert explained(None, {}).keys() == keys
    assert {source for _, source in explained(None, {}).values()} == {"default"}
    json.dumps(explained(None, {}))


def test_explained_settings_hide_secrets(tmp_path):
    (tmp_path / "c.toml").write_text(
        """
        [model]
        api_key = "SECRET"
        base_url = "https://me:SECRET@models.example/v1?key=SECRET"
        [[sandbox.network.allow]]
        host = "api.example.com"
        headers = { Authorization = "SECRET" }
        query = { key = "SECRET" }
        """
    )
    settings = explained(tmp_path / "c.toml", {})
    assert "SECRET" not in str(settings)
    assert settings["model.api_key"][0] == "•••"
    assert settings["model.base_url"][0] == "https://•••@models.example/v1?•••"
    [rule] = settings["sandbox.network.allow"][0]
    assert rule == {"host": "api.example.com", "headers": {"authorization": "•••"}, "query": {"key": "•••"}}


def test_settings_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        Settings().sandbox.pool_size = 5
