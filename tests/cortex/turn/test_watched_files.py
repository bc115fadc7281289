"""Changes that make other programs, or the cortex itself, do something else need the owner's eyes."""

from __future__ import annotations

import pytest

from cortex import Settings
from cortex.settings import load_settings
from cortex.turn.watched_files import WATCHED, is_watched, needs_eyes, own_files
from sandbox import Change


def changes(*paths):
    return [Change("changed", path, 1, 1) for path in paths]


@pytest.mark.parametrize("watched", WATCHED)
def test_each_watched_name_counts_anywhere_in_a_path_and_in_any_case(watched):
    for name in (watched.name, watched.name.upper()):
        assert is_watched(name)
        assert is_watched(f"a/{name}/b")
    assert not is_watched(f"a/x{watched.name}")
    assert watched.why


@pytest.mark.parametrize("way", ["plain", "link to the folder", "link to the file", "another case"])
async def test_a_file_of_the_cortex_is_found_by_each_of_its_names(tmp_path, way):
    folder = tmp_path / "granted"
    (folder / "conf").mkdir(parents=True)
    config = folder / "conf" / "cortex.toml"
    config.write_text("")
    given, path = config, "conf/cortex.toml"
    match way:
        case "link to the folder":
            (tmp_path / "link").symlink_to(folder)
            given = tmp_path / "link" / "conf" / "cortex.toml"
        case "link to the file":
            given = tmp_path / "cortex.toml"
            given.symlink_to(config)
        case "another case":
            path = "Conf/CORTEX.toml"
    own = own_files(load_settings(given, {}, tmp_path / "home"))
    assert await needs_eyes(changes(path), folder, own)
    assert await needs_eyes(changes("conf"), folder, own)
    assert not await needs_eyes(changes("conf/other", "cortex.toml"), folder, own)


def test_settings_know_the_file_that_they_were_read_from(tmp_path):
    config = tmp_path / "cortex.toml"
    config.write_text("")
    assert Settings(home=tmp_path).read_from == ()
    assert load_settings(None, {}, tmp_path).read_from == ()
    assert load_settings(config, {}, tmp_path).read_from == (config,)
    assert load_settings(None, {"CORTEX_CONFIG": str(config)}, tmp_path).read_from == (config,)
    assert load_settings(config, {}, tmp_path).model_copy().read_from == (config,)
