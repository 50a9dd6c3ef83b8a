"""The names that synchronisation programs give to conflict copies (V4).

Here: from a copy's path to the path of the note that it is a copy of. Not here: whether that note stands (scan.py): a
copy whose note is gone is a note. Only names that no person gives are known; `Note (1)`, `Note 2` and `Note - Copy`
are not, because people do give them.
"""

from __future__ import annotations

import re
from typing import Final

_PHRASES: Final = (
    "conflicted copy", "conflict copy", "case clash", "name clash", "SFConflict",
    "Konfliktkopie", "Konflikt-Kopie", "in Konflikt stehende Kopie", "widersprüchliche Kopie",
    "copie en conflit", "copie conflictuelle", "copia en conflicto", "copia conflictiva", "copia in conflitto",
    "copia conflittuale", "cópia em conflito", "cópia conflitante", "conflicterende kopie", "conflictkopie",
    "kopia powodująca konflikt", "sprzeczna kopia", "kopia w konflikcie", "konfliktkopia", "motstridig kopia",
    "modstridende kopi", "motstridende kopi", "konfliktikopio", "конфликтующая копия", "конфликтная копия",
    "競合コピー", "競合するコピー", "冲突副本", "冲突的副本", "冲突文件", "衝突複本", "衝突的複本", "충돌된 사본",
    "충돌 사본",
)  # fmt: skip
_ANY_CASE: Final = "|".join(re.escape(phrase).replace(r"\ ", r"[ _-]") for phrase in _PHRASES)
_COPY: Final = re.compile(
    r"(?P<stem>.+?)(?:"
    r"\.sync-conflict-\d{8}-\d{6}(?:-\w+)?"  # Syncthing
    r"|_conflict-\d{8}-\d{6}"  # ownCloud, Nextcloud
    rf"|[ _]?\([^/]*(?:{_ANY_CASE})[^/]*\)"  # Dropbox, Nextcloud, Obsidian Sync, Seafile, Proton Drive
    r"|[ _]?\[conflict(?:ed)?\]|\.conflict(?:ed)?"  # Google Drive, pCloud, Resilio
    r"|-(?-i:DESKTOP|LAPTOP)-(?-i:[0-9A-Z]{7,8})(?:-\d{1,3})?"  # OneDrive, by the names that Windows gives
    r"|_(?-i:BACKUP|BASE|LOCAL|REMOTE)_\d{1,7}"  # git mergetool
    r"|~\d{8}-\d{6}"  # a version kept by Syncthing
    r")\Z",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST_NAME: Final = 400  # characters; file systems take 255 bytes


def original_of(path: str) -> str | None:
    """The path of the note that `path` is named as a conflict copy of; None for any other name."""
    folder, slash, name = path.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    match = _COPY.match(stem) if len(stem) <= _LONGEST_NAME else None
    return f"{folder}{slash}{match['stem']}{dot}{suffix}" if match else None
