"""What language a text is in, and what is known about that language's words: stemmer and stop words (R10).

Here: detection and per-language word lists. Not here: how a text is cut into terms (`tokens`); vault files.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import regex  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier  # type: ignore[import-untyped]

UNDETERMINED: Final = "und"

# ISO 639-1 code -> name of the Snowball algorithm in PyStemmer.
SNOWBALL: Mapping[str, str] = MappingProxyType(
    {
        "ar": "arabic",
        "ca": "catalan",
        "cs": "czech",
        "da": "danish",
        "de": "german",
        "el": "greek",
        "en": "english",
        "eo": "esperanto",
        "es": "spanish",
        "et": "estonian",
        "eu": "basque",
        "fa": "persian",
        "fi": "finnish",
        "fr": "french",
        "ga": "irish",
        "hi": "hindi",
        "hu": "hungarian",
        "hy": "armenian",
        "id": "indonesian",
        "it": "italian",
        "lt": "lithuanian",
        "ne": "nepali",
        "nl": "dutch",
        "no": "norwegian",
        "pl": "polish",
        "pt": "portuguese",
        "ro": "romanian",
        "ru": "russian",
        "sr": "serbian",
        "sv": "swedish",
        "ta": "tamil",
        "tr": "turkish",
        "yi": "yiddish",
    }
)

# Closed-class words of English. The list of the stop-words package is not used for English: among its 1,333 entries are
# "system", "problem", "test", "ci", "pr" and "microsoft", which people search for.
_ENGLISH_STOP_WORDS: Final = frozenset(
    """
    a about above after again against all am an and any are aren as at be because been before being below between both
    but by can cannot could couldn did didn do does doesn doing don down during each few for from further had hadn has
    hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself ll me might
    mightn more most must mustn my myself needn no nor not of off on once only or other ought our ours ourselves out
    over own re same shall shan she should shouldn so some such than that the their theirs them themselves then there
    these they this those through to too under until up upon ve very was wasn we were weren what when where which
    while who whom whose why will with won would wouldn you your yours yourself yourselves
    """.split()  # noqa: SIM905 -- a word list is read as words
)
# Lists longer than this hold content words too ("trabajo", "asia"): only their short entries are taken.
_LONG_LIST = 500
_SHORT_WORD = 4
# Vietnamese writes syllables apart, so the entries of its list are content syllables; CJK text is cut into bigrams.
_NO_STOP_WORDS: Final = frozenset({"vi", "zh", "ja", "ko"})
_STOP_LIST_CODES: Final = MappingProxyType({"no": "nb"})


@cache
def stop_words(lang: str) -> frozenset[str]:
    """Casefolded function words of `lang` (ISO code); empty where no list is known."""
    if lang == "en":
        return _ENGLISH_STOP_WORDS
    if lang in _NO_STOP_WORDS:
        return frozenset()
    from stop_words import LANGUAGE_MAPPING, get_stop_words  # type: ignore[import-untyped]

    code = _STOP_LIST_CODES.get(lang, lang)
    if code not in LANGUAGE_MAPPING:
        return frozenset()
    words = {word.casefold() for word in get_stop_words(code)}
    if len(words) > _LONG_LIST:
        words = {word for word in words if len(word) <= _SHORT_WORD}
    return frozenset(word for word in words if word.isalpha())


# One script, one language (or one so dominant that the rest stem alike).
_SCRIPT_LANGUAGE: Final = MappingProxyType(
    {
        "Han": "zh",
        "Kana": "ja",
        "Hangul": "ko",
        "Thai": "th",
        "Lao": "lo",
        "Khmer": "km",
        "Myanmar": "my",
        "Hebrew": "he",
        "Greek": "el",
        "Armenian": "hy",
        "Georgian": "ka",
        "Bengali": "bn",
        "Gurmukhi": "pa",
        "Gujarati": "gu",
        "Oriya": "or",
        "Tamil": "ta",
        "Telugu": "te",
        "Kannada": "kn",
        "Malayalam": "ml",
        "Sinhala": "si",
        "Ethiopic": "am",
    }
)
# Several languages to a script: the detector decides among these; the second value is the answer when it is unsure.
_SCRIPT_CANDIDATES: Final = MappingProxyType(
    {
        "Latin": (
            "af ca cs cy da de en eo es et eu fi fr ga hr hu id is it la lt lv ms mt nl nn no pl pt ro sk sl sq sv sw "
            "tl tr vi",
            UNDETERMINED,
        ),
        "Cyrillic": ("be bg kk ky mk mn ru sr tg uk", UNDETERMINED),
        "Arabic": ("ar fa ps ug ur", "ar"),
        "Devanagari": ("hi mr ne", "hi"),
    }
)
_SCRIPTS: Final = regex.compile(
    r"(?P<Latin>\p{Latin}+)|(?P<Han>\p{Han}+)|(?P<Kana>[\p{Hiragana}\p{Katakana}]+)|(?P<Cyrillic>\p{Cyrillic}+)"
    r"|(?P<Arabic>\p{Arabic}+)|(?P<Devanagari>\p{Devanagari}+)"
    + "".join(rf"|(?P<{name}>\p{{{name}}}+)" for name in _SCRIPT_LANGUAGE if name not in {"Han", "Kana"})
)
# A character of these scripts says about as much as three letters.
_DENSE_SCRIPTS: Final = frozenset({"Han", "Kana", "Hangul"})
_DENSE_WEIGHT = 3
_KANA_SHARE = 0.1  # Japanese prose is at least half kana; Chinese notes quote a word now and then
_NOT_PROSE: Final = regex.compile(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`|<[^>\n]{0,200}>|\S*://\S*", regex.DOTALL
)
_SAMPLE_CHARS = 6_000
_MIN_LETTERS = 10
_MIN_CONFIDENCE = 0.5

_identifiers: dict[str, LanguageIdentifier] = {}
_identifier_lock = threading.Lock()


def _identifier(script: str) -> LanguageIdentifier:
    """The detector restricted to one script's languages; loading takes 0.7 CPU-s once a process (100 MB)."""
    with _identifier_lock:
        if script not in _identifiers:
            from py3langid.langid import MODEL_FILE, LanguageIdentifier

            if "" not in _identifiers:
                _identifiers[""] = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
            base = _identifiers[""]
            restricted = LanguageIdentifier(
                base.nb_ptc,
                base.nb_pc,
                base.nb_classes,
                base.tk_nextmove,
                base.tk_output,
                norm_probs=True,
                tk_row=base.tk_row,
            )
            restricted.set_languages(_SCRIPT_CANDIDATES[script][0].split())
            _identifiers[script] = restricted
        return _identifiers[script]


def _script_weights(text: str) -> dict[str, int]:
    weights: dict[str, int] = {}
    for match in _SCRIPTS.finditer(text):
        script = match.lastgroup or ""
        weight = _DENSE_WEIGHT if script in _DENSE_SCRIPTS else 1
        weights[script] = weights.get(script, 0) + weight * (match.end() - match.start())
    return weights


def detect(text: str) -> str:
    """R10: the language of `text` as an ISO 639 code (`en`, `de`, `zh`, ...), `und` when too short or unclear.

    Looks at the first 6,000 characters, code and addresses left out. Deterministic. Scripts that belong to one language
    need no model; for the others the first call in a process loads one.
    """
    sample = _NOT_PROSE.sub(" ", text[:_SAMPLE_CHARS])
    weights = _script_weights(sample)
    if not weights:
        return UNDETERMINED
    cjk = weights.get("Han", 0) + weights.get("Kana", 0)
    if weights.get("Kana", 0) > _KANA_SHARE * cjk:
        weights["Kana"] = cjk
        weights.pop("Han", None)
    script = max(weights, key=lambda name: (weights[name], name))
    if script in _SCRIPT_LANGUAGE:
        return _SCRIPT_LANGUAGE[script]
    _, unsure = _SCRIPT_CANDIDATES[script]
    if weights[script] < _MIN_LETTERS:
        return unsure
    code, confidence = _identifier(script).classify(sample)
    if confidence < _MIN_CONFIDENCE:
        return unsure
    return "no" if code == "nn" else str(code)
