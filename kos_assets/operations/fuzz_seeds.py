"""What fuzzing starts from: a few small inputs for each target, and the words that its format is made of.

Here: data. Not here: how they are mutated (fuzz.py). Everything is invented.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_NOTE = """---
title: "Die Mühle"
aliases: [Mill, 磨坊]
tags: [place/wind, old]
date: 2026-03-04T10:00:00+01:00
up: "[[Home|home]]"
people: [Ada Byron <ada@example.org>, "@lin"]
kos_namespace: shared:owner
nested: {a: [1, 2.5, ~], b: &x true, c: *x}
text: |+
  kept

---
# Die Mühle #old

> [!note]- Callout
> - [ ] sweep the floor 📅 2026-03-05 #chore ^block-1
> - [x] oil

See [[Wind#Gusts|gusts]], ![[sail.png|200]], [map](maps/map%20one.md#top), %% hidden [[x]] %% and `[[code]]`.

```dataview
LIST FROM #old
```
<% tp.file.title %> <!-- comment --> | a | b |
Setext
======
"""
_TOML = """+++
title = "Mill"
date = 1979-05-27T07:32:00Z
tags = ["a", "b"]
[extra]
x = 0x1f
y = '''many
lines'''
+++
Text.
"""
_MAIL = """Return-Path: <ada@example.org>
From: =?UTF-8?B?QWRhIELDvHJvbg==?= <ada@example.org>
To: "Lin, the miller" <lin@example.org>, undisclosed-recipients:;
Subject: =?iso-8859-1?Q?M=FChle?= and
 a folded line
Date: Wed, 4 Mar 2026 10:00:00 +0100 (CET)
Message-ID: <one@example.org>
In-Reply-To: <zero@example.org>
References: <a@example.org> <zero@example.org>
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary="edge"

--edge
Content-Type: text/plain; charset=utf-8; format=flowed
Content-Transfer-Encoding: quoted-printable

The sails are torn =E2=9C=82.

On Tue, 3 Mar 2026, Lin wrote:
> > older
> Are they?
--=20
Ada
--edge
Content-Type: text/html; charset="windows-1252"
Content-Transfer-Encoding: base64

PGh0bWw+PGJvZHk+PHA+VGhlIDxiPnNhaWxzPC9iPjwvcD48dGFibGU+PHRyPjx0ZD5hPC90ZD48L3RyPjwvdGFibGU+PC9ib2R5PjwvaHRtbD4=
--edge--
"""
_MIXED = """From: lin@example.org
Subject: files
Content-Type: multipart/mixed; boundary=x

--x
Content-Type: message/rfc822

Subject: inner
Content-Type: text/plain; charset=gb2312

hi
--x
Content-Type: application/pdf; name*=UTF-8''m%C3%BChle.pdf
Content-Disposition: attachment; filename="../../plan.pdf"
Content-Transfer-Encoding: x-uuencode

begin 644 a
end
--x--
"""
_EVENT = """BEGIN:VEVENT
UID:mill-1@example.org
DTSTAMP:20260301T080000Z
DTSTART;TZID=Europe/Berlin:20260304T100000
DURATION:PT1H30M
SUMMARY;LANGUAGE=de:Die Mühle\\, gefegt
DESCRIPTION:Bring a broom.\\nAnd <b>oil</b>.
 folded
LOCATION:Mill; upper floor
RRULE:FREQ=MONTHLY;BYDAY=-1FR;COUNT=10;WKST=MO
RDATE;VALUE=PERIOD:20260401T100000Z/PT1H
EXDATE;TZID=Europe/Berlin:20260327T100000
RECURRENCE-ID;RANGE=THISANDFUTURE:20260424T080000Z
ORGANIZER;CN="Ada Byron":mailto:ada@example.org
ATTENDEE;CN=Lin;PARTSTAT=ACCEPTED;ROLE=REQ-PARTICIPANT:mailto:lin@example.org
ATTACH;FMTTYPE=application/pdf:https://example.org/plan.pdf
STATUS:CONFIRMED
SEQUENCE:2
BEGIN:VALARM
TRIGGER:-PT15M
ACTION:DISPLAY
END:VALARM
END:VEVENT
"""
_DAY = "BEGIN:VEVENT\r\nUID:day\r\nDTSTART;VALUE=DATE:20261224\r\nDTEND;VALUE=DATE:20261227\r\nEND:VEVENT\r\n"

_CANVAS = """{
"nodes": [
{"id": "a", "type": "text", "text": "# Mill\\n[[Wind]] #old \\u00e4", "x": -10, "y": 0, "width": 250, "height": 60},
{"id": "b", "type": "file", "file": "Notes/Wind.md", "subpath": "#Gusts", "x": 300, "y": 1e2, "width": 9, "height": 9},
{"id": "c", "type": "group", "label": "All", "x": -50, "y": -50, "width": 900, "height": 900},
{"id": "d", "type": "link", "url": "https://example.org", "x": 0, "y": 99, "width": 9, "height": 9, "color": "#fff"}],
"edges": [{"id": "e", "fromNode": "a", "fromSide": "right", "toNode": "b", "toEnd": "arrow", "label": "turns"}]
}
"""

_ANY = (b"\n", b"\r\n", b"\r", b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"\xe2\x80\xa8", b"\xed\xa0\x80", b" ", b"\t")
_YAML = (
    *(b"---\n", b"...\n", b"+++\n", b"kos_id: ", b"kos_id: 12345678-1234-5678-9234-56789abcdef0\n", b": ", b"- "),
    *(b"&a ", b"*a", b"[", b"]", b"{", b"}", b"|", b">", b"'", b'"', b"!!python/object ", b"? ", b"<<: ", b"#", b"\\"),
    *(b"title: ", b"date: ", b"9" * 40, b"1e999", b".nan", b"\\ud800", b"= ", b"a.b."),
)
_MARKS = (
    *(b"# ", b"```", b"~~~", b"`", b"%%", b"<!--", b"-->", b"[[", b"]]", b"![[", b"](", b"[", b")", b"|", b"> ", b"#t"),
    *(b"- [ ] ", b"1. ", b"    ", b"===\n", b"---\n", b"<a", b"**", b"$$", b"^id", b"2026-03-04", b"https://", b"%ff"),
)
_HEADERS = (
    *(b"From: ", b"Subject: ", b"Date: ", b"Content-Type: ", b"multipart/mixed; boundary=", b"--x\n", b"--edge--\n"),
    *(b"charset=", b"utf-7", b"base64", b"=?utf-8?B?", b"=?", b"?=", b"<", b">", b";", b'"', b"References: ", b"\n\n"),
    *(b"message/rfc822", b"<div>", b"<blockquote>", b"<table><tr><td>", b"&#x110000;", b"> ", b"-- \n", b"wrote:\n"),
)
_ICS = (
    *(
        b"BEGIN:VEVENT\n",
        b"END:VEVENT\n",
        b"DTSTART",
        b"RRULE:FREQ=",
        b"SECONDLY",
        b"YEARLY",
        b";INTERVAL=",
        b";COUNT=",
    ),
    *(
        b";BYDAY=",
        b"MO,TU",
        b"UNTIL=",
        b"TZID=",
        b":",
        b";",
        b"=",
        b",",
        b"\\",
        b'"',
        b"99999999",
        b"-1",
        b"P1W",
        b"PT",
    ),
    *(b"\n ", b"mailto:", b"VALUE=DATE", b"VALUE=PERIOD", b"20260304T100000Z", b"00000000", b"RDATE:", b"^n"),
)

_JSON = (
    *(b"{", b"}", b"[", b"]", b'"', b",", b":", b"null", b"true", b"-1", b"1e999", b"NaN", b"Infinity", b"9" * 40),
    *(b"\\u0000", b"\\ud800", b"\\udc00", b"\\n", b"[[", b"]]", b"#", b'"id": "a"', b'"type": "group"', b'"x": 0,'),
    *(b'"nodes": ', b'"edges": ', b'"file": "../x"', b'"toNode": "a"', b'{"a":', b'"text": "'),
)

SEEDS: Final[Mapping[str, tuple[bytes, ...]]] = {
    "frontmatter": (_NOTE.encode(), _TOML.encode(), b"---\n---\n", b"---\r\na: 1\r\n---\r\n", b"Text.\n"),
    "markdown": (_NOTE.encode(), _TOML.encode(), "# Größe\n".encode("utf-16"), "Größe\n".encode("cp1252")),
    "canvas": (_CANVAS.encode(), b"{}", b""),
    "mail": (_MAIL.encode(), _MAIL.replace("\n", "\r\n").encode(), _MIXED.encode()),
    "calendar": (_EVENT.encode(), _EVENT.replace("\n", "\r\n").encode(), _DAY.encode()),
}
TOKENS: Final[Mapping[str, tuple[bytes, ...]]] = {
    "frontmatter": (*_ANY, *_YAML),
    "markdown": (*_ANY, *_YAML, *_MARKS),
    "canvas": (*_ANY, *_JSON, *_MARKS),
    "mail": (*_ANY, *_HEADERS),
    "calendar": (*_ANY, *_ICS),
}
