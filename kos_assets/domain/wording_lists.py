# ruff: noqa: SIM905 - a list of words reads as words
"""Words of several languages that a comparison of two wordings must know by heart. Data only.

Short on purpose: a word that is missing makes the guard looser or stricter by one word, and never wrong about a number.
"""

from __future__ import annotations

from typing import Final

MONTHS: Final = frozenset(
    """
    january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday januar februar märz mai juni juli oktober dezember montag dienstag mittwoch
    donnerstag freitag samstag sonntag janvier février mars avril juin juillet août septembre octobre novembre
    décembre lundi mardi mercredi jeudi vendredi samedi dimanche enero febrero marzo abril mayo junio julio agosto
    septiembre octubre noviembre diciembre lunes martes miércoles jueves viernes sábado domingo
    """.split()
)
NUMERALS: Final = frozenset(
    """
    zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand
    first second third fourth fifth once twice double half null eins zwei drei vier fünf sechs sieben acht neun zehn
    elf zwölf erste zweite dritte deux trois quatre cinq sept huit neuf dix dos tres cuatro cinco seis siete ocho
    nueve diez
    """.split()
)
NEGATIONS: Final = frozenset(
    """
    not no never none neither nor without cannot can't don't doesn't didn't won't isn't aren't wasn't weren't
    shouldn't mustn't couldn't wouldn't haven't hasn't hadn't disabled disable disallowed forbidden unsupported deny
    denied reject refuse refused off false fail failed fails failing impossible unsafe optional nicht kein keine
    keinen keinem keiner nie niemals ohne weder aus pas jamais sans aucun aucune ni ne nunca sin ningún ninguna
    tampoco não nem sem mai non senza niet geen nooit zonder inte aldrig utan не нет никогда без ни нельзя لا ليس لم
    لن بدون غير
    不 没 沒 無 无 非 未 否 ไ
    """.split()
)
NEGATORS: Final = frozenset(
    """
    not no never none neither nor without nicht kein keine keinen keinem keiner nie niemals ohne pas jamais sans aucun
    aucune ne nunca sin ningún ninguna não nem sem non senza niet geen nooit zonder inte aldrig utan не нет никогда без
    ни لا ليس لم لن بدون 不 没 沒 無 无 未
    """.split()
)
"""Those of them that only deny, so that one may stand for another."""

OPPOSITES: Final = frozenset(
    """
    always on true enabled enable allowed allow accept accepted required mandatory safe supported before after above
    below more less min max minimum maximum start stop open close opens closes opened closed up down left right in
    out add remove increase decrease increased decreased first last old new public private internal external read
    write input output source target staging production prod dev test development debug release upload download push
    pull import export encrypt decrypt lock unlock mount unmount attach detach create delete install uninstall
    upgrade downgrade client server master replica primary secondary inbound outbound ingress egress north south
    east west summer winter morning evening immer an ein vor nach über unter
    """.split()
)
PRONOUNS: Final = frozenset("it they he she this these es er sie il elle ils elles он она оно они 它 他 她".split())
"""Words by which a text begins to speak of what its heading names."""

FUNCTION: Final = frozenset(
    """
    a an the of for to in on at by with from and or as is are was were be been being it its this that these those
    there our your my their we you they i he she his her do does did has have had will would can could should must
    may might than then so if when while which who what how why where also just very into about over under per via
    der die das den dem des ein eine einen einem einer und oder ist sind war waren im in am an auf für von zu mit
    bei aus als wie es wir sie ich le la les un une des de du et ou est sont dans pour par sur avec el los las una y
    o es en por para con del al il lo gli di e da note notes lesson learned
    и в во на у с со по для от к о об из за а но или что как это его её их мы вы они он она
    的 了 在 是 和 与 上 于 把 会 の は が を に で と
    """.split()
)
