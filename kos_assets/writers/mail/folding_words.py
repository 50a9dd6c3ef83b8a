"""What mail programs write around quotes and below texts, in many languages (W3).

Here: words, and the patterns made of them; each is matched against one line of bounded length. Not here: what is done
with what they find (folding.py).
"""

from __future__ import annotations

import re
from typing import Final

_WROTE: Final = (
    *(
        "wrote",
        "writes",
        "said",
        "schrieb",
        "schreibt",
        "hat geschrieben",
        "geschrieben",
        "a écrit",
        "écrit",
        "écrivait",
    ),
    *(
        "ha scritto",
        "scrive",
        "escribió",
        "escribio",
        "escrito",
        "va escriure",
        "escreveu",
        "schreef",
        "heeft geschreven",
    ),
    *(
        "skrev",
        "skreiv",
        "kirjoitti",
        "kirjutas",
        "napisał",
        "napisała",
        "napisał(a)",
        "napsal",
        "napsal(a)",
        "napísal",
    ),
    *(
        "napisao",
        "je napisal",
        "написал",
        "написала",
        "пишет",
        "пише",
        "написав",
        "έγραψε",
        "yazdı",
        "şunu yazdı",
        "írta",
    ),
    *(
        "a scris",
        "rašė",
        "rakstīja",
        "скрипа",
        "כתב",
        "כתבה",
        "מאת",
        "كتب",
        "كتبت",
        "写道",
        "寫道",
        "写到",
        "書きました",
    ),
    *("のメッセージ", "님이 작성", "작성", "đã viết", "menulis", "เขียน", "نوشت", "schrëef"),
)
WROTE = re.compile("|".join(re.escape(word) for word in sorted(_WROTE, key=len, reverse=True)), re.IGNORECASE)
DATED = re.compile(
    r"\d{1,4}\s{0,2}[./年-]\s{0,2}\d{1,2}|\d{1,2}:\d{2}|\d{1,2}\.? [^\W\d]{3,12}\.?,? \d{4}|"
    r"[^\W\d]{3,12}\.? \d{1,2},? \d{4}"
)
ADDRESSED = re.compile(r"[^\s@<>]{1,64}@[^\s@<>]{1,64}")

_ORIGINAL: Final = (
    *("original message", "original appointment", "forwarded message", "forwarded by", "begin forwarded message"),
    *("ursprüngliche nachricht", "originalnachricht", "original-nachricht", "weitergeleitete nachricht"),
    *("anfang der weitergeleiteten nachricht", "message d'origine", "message d’origine", "message original"),
    *("message transféré", "message transmis", "début du message réexpédié", "début du message transféré"),
    *("mensaje original", "mensaje reenviado", "inicio del mensaje reenviado", "mensagem original"),
    *("mensagem encaminhada", "messaggio originale", "messaggio inoltrato", "inizio messaggio inoltrato"),
    *("oorspronkelijk bericht", "doorgestuurd bericht", "oprindelig meddelelse", "ursprungligt meddelande"),
    *("vidarebefordrat meddelande", "opprinnelig melding", "videresendt melding", "alkuperäinen viesti"),
    *("wiadomość oryginalna", "oryginalna wiadomość", "wiadomość przekazana", "původní zpráva", "přeposlaná zpráva"),
    *("eredeti üzenet", "mesaj original", "исходное сообщение", "пересылаемое сообщение", "пересылаемое письмо"),
    *("оригинальное сообщение", "özgün ileti", "yönlendirilmiş", "iletilmiş mesaj", "αρχικό μήνυμα", "הודעה מקורית"),
    *(
        "رسالة أصلية",
        "الرسالة الأصلية",
        "原始邮件",
        "原始郵件",
        "转发的邮件",
        "转发邮件信息",
        "轉寄郵件",
        "元のメッセージ",
    ),
    *("転送メッセージ", "転送されたメッセージ", "원본 메시지", "전달된 메시지", "tin nhắn gốc", "pesan asli"),
)
_ORIGINAL_WORDS: Final = "|".join(re.escape(word) for word in _ORIGINAL)
ORIGINAL = re.compile(rf"[\s>*_-]{{0,80}}(?:-{{1,40}} ?)?(?:{_ORIGINAL_WORDS})\b.{{0,80}}", re.IGNORECASE)
RULED = re.compile(r"[-_=*]{3,}|:\Z|：\Z")

_SENDER: Final = (
    *(
        "from",
        "von",
        "de",
        "da",
        "van",
        "fra",
        "från",
        "lähettäjä",
        "od",
        "от",
        "від",
        "feladó",
        "from",
        "kimden",
        "από",
    ),
    *(
        "מאת",
        "من",
        "发件人",
        "寄件者",
        "寄件人",
        "差出人",
        "送信者",
        "보낸 사람",
        "보낸사람",
        "từ",
        "dari",
        "expéditeur",
        "envoyé par",
    ),
)
_OTHER: Final = (
    *(
        "sent",
        "date",
        "to",
        "cc",
        "subject",
        "reply-to",
        "gesendet",
        "datum",
        "an",
        "betreff",
        "kopie",
        "envoyé",
        "à",
        "objet",
    ),
    *(
        "enviado",
        "enviado el",
        "fecha",
        "para",
        "asunto",
        "enviada",
        "enviada em",
        "assunto",
        "inviato",
        "data",
        "a",
        "oggetto",
    ),
    *(
        "verzonden",
        "aan",
        "onderwerp",
        "sendt",
        "til",
        "emne",
        "skickat",
        "till",
        "ämne",
        "lähetetty",
        "vastaanottaja",
        "aihe",
    ),
    *(
        "wysłano",
        "do",
        "temat",
        "dw",
        "odesláno",
        "komu",
        "předmět",
        "odoslané",
        "predmet",
        "отправлено",
        "дата",
        "кому",
        "тема",
    ),
    *(
        "надіслано",
        "küldve",
        "címzett",
        "tárgy",
        "trimis",
        "subiect",
        "gönderildi",
        "tarih",
        "kime",
        "konu",
        "στάλθηκε",
        "προς",
    ),
    *(
        "θέμα",
        "ημερομηνία",
        "תאריך",
        "אל",
        "נושא",
        "נשלח",
        "تاريخ",
        "إلى",
        "الموضوع",
        "التاريخ",
        "发送时间",
        "日期",
        "收件人",
        "主题",
    ),
    *(
        "抄送",
        "寄件日期",
        "收件者",
        "主旨",
        "送信日時",
        "日時",
        "宛先",
        "件名",
        "보낸 날짜",
        "날짜",
        "받는 사람",
        "제목",
        "참조",
        "ngày",
        "đến",
    ),
    *("chủ đề", "tanggal", "kepada", "subjek", "dikirim"),
)


def _field(words: tuple[str, ...]) -> re.Pattern[str]:
    joined = "|".join(re.escape(word) for word in sorted(set(words), key=len, reverse=True))
    return re.compile(
        rf"[\s>]{{0,20}}[*_]{{0,2}}(?:{joined})[ \u00a0]?[*_]{{0,2}}[:：][*_]{{0,2}}"
        r"(?:\s.{0,1000}|\Z|(?<=：).{0,1000})",
        re.IGNORECASE,
    )


SENDER_FIELD = _field(_SENDER)
ANY_FIELD = _field((*_SENDER, *_OTHER))

_SENT_FROM: Final = (
    *(
        "sent from my",
        "sent from",
        "sent via",
        "get outlook for",
        "sent with",
        "gesendet von",
        "von meinem",
        "holen sie sich",
    ),
    *(
        "outlook für",
        "envoyé de mon",
        "envoyé depuis",
        "télécharger outlook",
        "obtenez outlook",
        "enviado desde",
        "obtener outlook",
    ),
    *(
        "enviado do meu",
        "enviado de meu",
        "obter o outlook",
        "inviato da",
        "ottieni outlook",
        "verzonden vanaf",
        "verstuurd vanaf",
    ),
    *(
        "outlook voor",
        "sendt fra",
        "hent outlook",
        "skickat från",
        "hämta outlook",
        "lähetetty",
        "wysłano z",
        "wysłane z",
    ),
    *(
        "pobierz outlook",
        "odesláno z",
        "odoslané z",
        "отправлено с",
        "надіслано з",
        "iphone'umdan",
        "şuradan gönderildi",
    ),
    *(
        "outlook al",
        "εστάλη από",
        "נשלח מה",
        "أرسلت من",
        "تم الإرسال من",
        "发自我的",
        "发送自",
        "從我的",
        "iphoneから送信",
    ),
    *("나의 iphone에서", "gửi từ", "dikirim dari", "trimis de pe"),
    *("から送信", "나의 iphone에서", "에서 보냄", "gửi từ", "dikirim dari", "trimis de pe"),
)
_DEVICES: Final = (
    "iphone|ipad|ipod|android|samsung|galaxy|huawei|xiaomi|nokia|pixel|outlook|mail|blackberry|handy|mobil|móvil|smart|"
    "phone|telefon|téléphone|tablet|portable|windows|yahoo|proton|app|手机|手機|携帯|スマ|휴대|מובייל|הנייד|телефон"
)
SENT_FROM = re.compile(
    rf"(?=.{{0,120}}(?:{_DEVICES}))[\s>*_—–-]{{0,6}}(?:{'|'.join(re.escape(word) for word in _SENT_FROM)}).{{0,80}}",
    re.IGNORECASE,
)
_LIST_WORDS: Final = (
    *(
        "mailing list",
        "mailinglist",
        "unsubscribe",
        "mailman/listinfo",
        "listinfo",
        "subscription",
        "abmelden",
        "austragen",
    ),
    *("désabonner", "se désinscrire", "darse de baja", "cancellarsi", "afmelden", "abbestellen", "google groups"),
    *("this sf.net email", "sponsored by", "do you yahoo", "get your free", "list maintainer", "liste de diffusion"),
    *("lista de correo", "yahoogroups", "yahoo! groups", "退订", "取消订阅", "配信停止", "отписаться"),
)
LIST_FOOTER = re.compile("|".join(re.escape(word) for word in _LIST_WORDS), re.IGNORECASE)
FOOTER_RULE = re.compile(r"[-_=~*#]{10,200}(?:>>?|>)?|-{3,}\w?.{0,60}-{3,}|\\?-{3,}")
