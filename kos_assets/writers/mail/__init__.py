"""Mail: one note per thread that the owner wrote in, from mbox, Maildir, .eml and Apple .emlx (W3).

Here: what the rest of the product calls. Not here: how any of it works: places and mbox (which messages there are),
headers, people, dates and charsets (one header), slim and message (one message), richtext and plain (its text), folding
(quotes and signatures), register and threads (what belongs together), page (the note), source (the run).
"""

from __future__ import annotations

from kos_assets.writers.mail.message import Attachment, Message, parse_message
from kos_assets.writers.mail.source import MailSource, open_source

__all__ = ["Attachment", "MailSource", "Message", "open_source", "parse_message"]
