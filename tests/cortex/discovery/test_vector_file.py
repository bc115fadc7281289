from __future__ import annotations

import stat
from array import array

import pytest

from cortex.discovery import vector_file
from cortex.discovery.vector_file import VectorFile, key_of

VECTORS = {key_of("a"): array("f", [1.0, 0.5]), key_of("b"): array("f", [0.0, -1.0])}


def test_vectors_are_there_again_for_the_next_process(tmp_path):
    VectorFile(tmp_path / "new", "model").save(VECTORS)
    assert VectorFile(tmp_path / "new", "model").load() == VECTORS
    [path] = (tmp_path / "new").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_vectors_of_another_model_are_not_used(tmp_path):
    VectorFile(tmp_path, "model").save(VECTORS)
    assert VectorFile(tmp_path, "other").load() == {}
    [path] = tmp_path.iterdir()
    path.rename(tmp_path / f"{key_of('other')}.vectors")
    assert VectorFile(tmp_path, "other").load() == {}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"[]\n",
        b"nonsense",
        b'{"model":"model","dimension":2,"keys":["k"]}\n123',
        b'{"model":"model","dimension":2,"keys":["k"]}\n1234',
        b'{"model":"model","dimension":0,"keys":[]}\n',
        b'{"model":"model","dimension":"2","keys":["k"]}\n12345678',
        b'{"model":"model","dimension":2,"keys":null}\n',
        b"[" * 100_000,
        b"\xff\xfe\n",
    ],
)
def test_a_damaged_vector_file_counts_as_missing(tmp_path, data):
    (tmp_path / f"{key_of('model')}.vectors").write_bytes(data)
    assert VectorFile(tmp_path, "model").load() == {}


def test_no_more_is_kept_than_there_is_room_for_the_first_ones_first(tmp_path, monkeypatch):
    monkeypatch.setattr(vector_file, "MAX_BYTES", 3 * 8)
    many = {key_of(str(n)): array("f", [float(n), 1.0]) for n in range(10)}
    VectorFile(tmp_path, "model").save(many)
    assert list(VectorFile(tmp_path, "model").load()) == list(many)[:3]


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    VectorFile(tmp_path / "file", "model").save(VECTORS)
    assert VectorFile(tmp_path / "file", "model").load() == {}
