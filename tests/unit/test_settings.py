"""Settings: precedence, refusals, and no secret in sight."""

from __future__ import annotations

from pathlib import Path

import pytest

from kos_assets.errors import ConfigError
from kos_assets.settings import load
from kos_assets.store.database import derived_password, role_dsn, with_database


def test_environment_wins_over_the_file_and_flags_over_both(tmp_path: Path) -> None:
    """P2: flag, then variable, then kos.toml, then default."""
    (tmp_path / "kos.toml").write_text(
        '[serving]\nport = 1111\nnamespaces = ["global"]\n[kos]\ntime_zone = "Asia/Tokyo"\n'
    )
    env = {"KOS_DATA_DIR": str(tmp_path), "KOS_PORT": "2222"}
    found = load(env)
    assert (found.port, found.read_namespaces, found.zone.key) == (2222, ("global",), "Asia/Tokyo")
    assert load(env, port=3333).port == 3333


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[vault]\nunknown = 1\n", "unknown key"),
        ("[serving\n", "not valid TOML"),
        ('[serving]\nport = "many"\n', "cannot take"),
        ('[dagster]\nnightly_at = "25:00"\n', "HH:MM"),
        ('[serving]\nhost = "0.0.0.0"\n', "loopback"),
        ("[gate]\ndistance = 1.5\n", "between 0 and 1"),
    ],
)
def test_what_cannot_be_meant_stops_the_start(tmp_path: Path, text: str, says: str) -> None:
    """E2: a wrong or unknown key is a clear error, not a default."""
    (tmp_path / "kos.toml").write_text(text)
    with pytest.raises(ConfigError, match=says):
        load({"KOS_DATA_DIR": str(tmp_path)})


def test_an_unknown_zone_is_explained() -> None:
    """S10: dates need a zone that exists."""
    with pytest.raises(ConfigError, match="time zone"):
        _ = load({"KOS_TIME_ZONE": "Mars/Base"}).zone


def test_the_example_is_valid(tmp_path: Path) -> None:
    """P2: kos.example.toml can be copied as it is."""
    root = Path(__file__).parents[2]
    (tmp_path / "kos.toml").write_text((root / "kos.example.toml").read_text("utf-8"))
    assert load({"KOS_DATA_DIR": str(tmp_path)}).namespace_folders == {"mail": "shared:owner", "agents": "agent:scribe"}


def test_role_logins_are_derived_one_way() -> None:
    """S5: the reader's DSN does not tell the writer's password, and an explicit DSN wins."""
    settings = load({"KOS_DSN": "postgresql://admin:s3cret@db:5433/kos", "KOS_DBT_DSN": "postgresql://d:x@db/kos"})
    reader, writer = role_dsn(settings, "reader"), role_dsn(settings, "writer")
    assert "user=kos_reader" in reader
    assert "s3cret" not in reader + writer
    assert derived_password(str(settings.dsn), "reader") not in writer
    assert role_dsn(settings, "dbt") == "postgresql://d:x@db/kos"


def test_a_dsn_without_a_password_says_what_to_set() -> None:
    """S5: nothing to derive from is an error, not an empty password."""
    with pytest.raises(ConfigError, match="no password"):
        role_dsn(load({"KOS_DSN": "postgresql://admin@db/kos"}), "reader")


def test_urls_quote_what_needs_quoting() -> None:
    """S1: passwords with any character survive the way into a URL."""
    url = with_database("host=db user=a password='p/w@ d:'", "other", driver="+psycopg2")
    assert url == "postgresql+psycopg2://a:p%2Fw%40%20d%3A@db:5432/other"
