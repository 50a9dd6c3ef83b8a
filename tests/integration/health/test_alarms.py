"""Alarms on disk and over a real loopback HTTP server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from kos_assets.alarms import Alarm, raise_alarm, recent_alarms
from kos_assets.settings import Settings

NOW = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)
ALARM = Alarm("check", "kos/memories", "2 rows are broken", facts={"rows": 2})


class Receiver(HTTPServer):
    """Keeps what is posted; answers with `status`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.status = 204
        self.received: list[dict[str, object]] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}/hook"


class _Answer(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        self.server.received.append(json.loads(self.rfile.read(length)))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A webhook's other end."""
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings with a data directory and no webhook."""
    return Settings(data_dir=tmp_path / "data")


def test_alarm_is_a_line_of_the_month(settings: Settings) -> None:
    """M2: one JSON line per alarm, newest first when read back."""
    delivery = raise_alarm(ALARM, settings, now=NOW)
    raise_alarm(replace(ALARM, message="later"), settings, now=NOW)
    assert delivery.recorded
    assert delivery.webhook is None
    assert delivery.file == settings.data_dir / "alarms" / "2026-11.jsonl"
    assert [alarm["message"] for alarm in recent_alarms(settings)] == ["later", "2 rows are broken"]
    assert recent_alarms(settings, limit=1)[0]["facts"] == {"rows": 2}


def test_webhook_gets_the_same_record(settings: Settings, receiver: Receiver) -> None:
    """M2: the webhook receives what the file holds."""
    delivery = raise_alarm(ALARM, replace(settings, alarm_webhook=receiver.url), now=NOW)
    assert delivery.webhook is True
    assert receiver.received == [json.loads(delivery.file.read_text("utf-8"))]


def test_refused_delivery_is_recorded(settings: Settings, receiver: Receiver) -> None:
    """M2: a webhook that answers 500 is written down beside the alarm; nothing is raised."""
    receiver.status = 500
    delivery = raise_alarm(ALARM, replace(settings, alarm_webhook=receiver.url), now=NOW)
    assert delivery.recorded
    assert delivery.webhook is False
    lines = [json.loads(line) for line in delivery.file.read_text("utf-8").splitlines()]
    assert lines[1] == {
        "alarm_id": delivery.alarm_id, "at": NOW.isoformat(), "undelivered": "the webhook answered 500",
    }  # fmt: skip
    assert len(recent_alarms(settings)) == 1


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/hook", "not a url", "file:///etc/passwd", "http://[::bad"])
def test_unreachable_webhook_never_raises(settings: Settings, url: str) -> None:
    """M2: whoever raises an alarm is already in trouble."""
    delivery = raise_alarm(ALARM, replace(settings, alarm_webhook=url), now=NOW)
    assert delivery.recorded
    assert delivery.webhook is False
    assert url not in "".join(delivery.problems)  # a webhook's URL is a secret


def test_unwritable_directory_never_raises(settings: Settings, receiver: Receiver) -> None:
    """M2: without a place to write, the webhook still gets it."""
    settings.data_dir.write_text("a file where the directory should be")
    delivery = raise_alarm(ALARM, replace(settings, alarm_webhook=receiver.url), now=NOW)
    assert not delivery.recorded
    assert delivery.webhook is True
    assert delivery.problems


def test_torn_line_is_left_out(settings: Settings) -> None:
    """M2: a crash in the middle of a write does not hide the other alarms."""
    delivery = raise_alarm(ALARM, settings, now=NOW)
    with delivery.file.open("a") as file:
        file.write('{"message": "to')
    assert len(recent_alarms(settings)) == 1
