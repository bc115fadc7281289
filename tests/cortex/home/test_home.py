from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from cortex import SettingsError
from cortex.home.home import Home, HomeError

FOLDERS = ("state", "audit", "conversations", "workflows")
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_is_made_when_it_is_asked_for_and_is_nobody_elses(tmp_path, name):
    home = Home(tmp_path / "data" / "motor-cortex")
    assert not home.path.exists()
    assert getattr(home, name) == home.path / name
    assert (mode(home.path), mode(home.path / name)) == (0o700, 0o700)
    assert [entry.name for entry in home.path.iterdir()] == [name]


@pytest.mark.parametrize("name", FOLDERS)
def test_folders_that_others_could_read_are_closed(tmp_path, name):
    (tmp_path / name).mkdir(mode=0o755)
    tmp_path.chmod(0o755)
    assert mode(getattr(Home(tmp_path), name)) == 0o700
    assert mode(tmp_path) == 0o755  # a person's own decision


@pytest.mark.parametrize("bits", [0o770, 0o707, 0o720, 0o702])
def test_a_home_that_others_can_write_to_is_refused(tmp_path, bits):
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(bits)
    with pytest.raises(HomeError, match=r"others may write there; if they did not, run: chmod -R go-w"):
        _ = Home(home).state
    assert list(home.iterdir()) == []


def test_a_folder_in_it_that_others_can_write_to_is_refused(tmp_path):
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit").chmod(0o777)
    with pytest.raises(HomeError, match=r'^Cannot keep state in ".*/audit": others may write there'):
        _ = Home(tmp_path).audit
    assert Home(tmp_path).state.is_dir()


@pytest.mark.parametrize("place", ["file", "file/below", "home/state", "dangling"])
def test_a_file_in_its_place_is_refused(tmp_path, place):
    (tmp_path / "home").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "home" / "state").touch()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    home = tmp_path / place.removesuffix("/state")
    with pytest.raises(HomeError, match=r"it is a file and not a folder|Not a directory") as caught:
        _ = Home(home).state
    assert str(tmp_path / place) in str(caught.value)
    assert "--home or CORTEX_HOME names another place" in str(caught.value)


def test_a_link_to_a_folder_of_ones_own_is_a_home(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "disk")
    assert Home(tmp_path / "home").state.is_dir()


def test_a_home_that_cannot_be_used_is_a_setting_that_cannot_be_used(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError):
        _ = Home(tmp_path / "file").state


@ROOT_ONLY
def test_a_home_of_another_user_is_refused(tmp_path):
    os.chown(tmp_path, 12_345, -1)
    with pytest.raises(HomeError, match=r"it belongs to user 12345, and this is user 0"):
        _ = Home(tmp_path).state


@pytest.fixture
def somebody():
    """The tests as a user who may not write everywhere, with a folder of that user's."""
    real = os.geteuid()
    with tempfile.TemporaryDirectory() as folder:  # what pytest makes for root, others cannot enter
        if real == 0:
            os.chown(folder, 12_345, -1)
            os.seteuid(12_345)
        yield Path(folder)
        os.seteuid(real)


@pytest.mark.parametrize("bits", [0o500, 0o600, 0o300])
def test_a_home_that_cannot_be_written_to_is_refused(somebody, bits):
    (somebody / "state").mkdir(mode=0o700)
    somebody.chmod(bits)
    try:
        with pytest.raises(HomeError, match=r"it is not writable|Permission denied"):
            _ = Home(somebody).state
    finally:
        somebody.chmod(0o700)


def test_a_home_that_cannot_be_made_is_refused(somebody):
    (somebody / "closed").mkdir(mode=0o500)
    with pytest.raises(HomeError, match=r'^Cannot keep state in ".*/closed/home": Permission denied'):
        _ = Home(somebody / "closed" / "home").state
