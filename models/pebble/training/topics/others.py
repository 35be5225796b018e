"""Everything that is neither about vug nor a task that pebble can do: small talk, facts
that users tell about themselves and ask later, and questions that a very small model
cannot answer."""

import itertools
import re

from . import case, names, others_limits
from .others_talk import (ASK_SELF, IS_SELF, RELATIVES, SYSTEM_SELF, SYSTEM_USER, TALK, TOLD, UNKNOWN)

SMALL = "very small model"
FRAMES = [
    "I am a very small model and {reason}. {can}",
    "Sorry, I am a very small model and {reason}. {can}",
    "I am only a very small model and {reason}. {can}",
    "That is too much for me: I am a very small model and {reason}. {can}",
]
CAN = [
    "I can answer questions about vug, tell a story or add small numbers.",
    "What I can do: answer questions about vug, tell stories, add small numbers, sort short lists and write JSON.",
    "Ask me about vug, or let me tell you a story.",
    "A bigger model can help: start one with `vug run FOLDER`.",
]
# Better answers than the above if something similar is possible.
INSTEAD = {
    "cannot write poems or songs": "But I can tell you a short story.",
    "cannot write long texts": "But I can tell you a short story.",
    "cannot play a role": "But I can tell you a short story.",
    "cannot play games or solve riddles": "But I can tell you a story or a joke.",
    "know nothing about music, books and films": "But I can tell you a story of my own.",
    "did not understand that": "Please ask me about vug, or let me tell you a story.",
}
# Like the answer of facts_about to which languages it speaks.
ENGLISH = [
    "I speak only English: I am a very small model. A bigger model, started with `vug run FOLDER`, knows other "
    "languages.",
    "I am a very small model and speak only English. A bigger model, started with `vug run FOLDER`, knows other "
    "languages.",
]
# After such an answer: (messages of the user, answers).
PRESS = case.Table([
    "please try.", "try anyway.", "why not?", "but i need it.", "just guess.", "are you sure?", "come on!",
    "that is disappointing.", "you can do it!",
    "but other models can.", "please!", "try harder.", "give it a try.", "i do not believe that.", "any idea at all?",
    "make something up.", "why can't you?",
    "that is a pity.", "really? you can't?", "you must know that.", "it is not that hard.", "at least a little?",
    "then guess."])
PRESS_ANSWERS = [
    "I would only make something up: I am a very small model and {reason}.",
    "I am sorry, but a guess would be wrong. I am a very small model and {reason}.",
    "It does not help to try: I am a very small model and {reason}. A bigger model can do it: `vug run FOLDER`.",
]

LONE_I = re.compile(r"\bi\b")
ARTICLE = re.compile(r"\b([Aa])n? (?=(\w))")
SLOT = re.compile(r"\{(\w+)\}")
DOMAINS = [(reason, case.Table(list(dict.fromkeys(frames)))) for reason, frames in others_limits.DOMAINS]
CUMULATED = list(itertools.accumulate(10 + len(frames) for _, frames in others_limits.DOMAINS))
LETTERS = "asdfjklqwertzuiopyxcvbnm"
YEARS = (1066, 1492, 1789, 1815, 1848, 1914, 1945, 1969, 1989, 2000, 2010, 2020)


def gibberish(rng):
    """Random keys."""
    at = rng.randrange(len(LETTERS) - 5)
    return LETTERS[at:at + rng.randint(3, 5)] if rng.random() < 0.4 else "".join(rng.choices(LETTERS, k=rng.randint(3,
        9)))


# The first and the last letter of other scripts: Greek, Cyrillic, Hebrew, Arabic, Hindi, Japanese, Chinese, Korean.
SCRIPTS = [(0x3B1, 0x3C9), (0x430, 0x44F), (0x5D0, 0x5EA), (0x627, 0x64A), (0x905, 0x939), (0x3042, 0x3093), (0x4E00,
    0x6000), (0xAC00, 0xB000)]


def foreign(rng):
    """Letters of another script; the answer stays the same."""
    first, last = rng.choice(SCRIPTS)
    return " ".join("".join(chr(rng.randint(first, last)) for _ in range(rng.randint(2,
        6))) for _ in range(rng.randint(1, 3)))


def scramble(rng, held_out):
    letters = list(others_limits.TABLES["noun"].pick(rng, held_out))
    rng.shuffle(letters)
    return " ".join(letters)


def number(rng, held_out, low, high):
    while True:
        n = rng.randint(low, high)
        if case.held(str(n)) == bool(held_out):
            return str(n)


MADE = {
    "small": lambda rng, held_out: str(rng.randint(2, 12)),
    "mid": lambda rng, held_out: str(rng.randint(11, 99)),
    "big": lambda rng, held_out: number(rng, held_out, 100, 999),
    "huge": lambda rng, held_out: number(rng, held_out, 1000, 10 ** rng.randint(4, 9)),
    "year": lambda rng, held_out: str(rng.choice(YEARS) + rng.randint(0, 9)),
    "gibberish": lambda rng, held_out: gibberish(rng),
    "foreign": lambda rng, held_out: foreign(rng),
    "scramble": scramble,
    "invented": lambda rng, held_out: names.invented(rng, held_out).lower(),
    "Invented": names.invented,
    "stranger": lambda rng, held_out: f"{names.person(rng, held_out)} {names.invented(rng, held_out)}",
}


def fill(rng, held_out, frame):
    """The slots of a frame; {city2} is drawn like {city} and differs from it."""
    drawn = {}

    def one(match):
        key = match.group(1)
        base = key.rstrip("23")
        while True:
            made = MADE.get(base)
            value = made(rng, held_out) if made else others_limits.TABLES[base].pick(rng, held_out)
            if key == base or value != drawn.get(base):
                drawn[key] = value
                return value

    return SLOT.sub(one, frame)


def polish(text):
    """Turns text in lower case, with any article, into a sentence."""
    text = LONE_I.sub("I", text.replace(";", ","))
    text = ARTICLE.sub(lambda m: m.group(1) + ("n " if m.group(2) in "aeiouAEIOU" else " "), text)
    return text[:1].upper() + text[1:]


def limit(rng, held_out):
    """(user, model, reason) for a question that is beyond pebble."""
    reason, frames = rng.choices(DOMAINS, cum_weights=CUMULATED)[0]
    text = polish(fill(rng, held_out, frames.pick(rng, held_out)))
    if reason != "did not understand that":
        text = case.wrap(rng, case.casual(rng, text))
    if reason == "speak only English":
        return text, rng.choice(ENGLISH), reason
    can = INSTEAD[reason] if reason in INSTEAD and rng.random() < 0.5 else rng.choice(CAN)
    return text, rng.choice(FRAMES).format(reason=reason, can=can), reason


def limits(rng, held_out):
    user, model, reason = limit(rng, held_out)
    texts = [user, model]
    r = rng.random()
    if r < 0.08:
        texts += [case.casual(rng, polish(PRESS.pick(rng, held_out))),
                  rng.choice(PRESS_ANSWERS).format(reason=reason)]
    elif r < 0.14:
        texts += limit(rng, held_out)[:2]
    return case.Case(case.turns(rng, held_out, *texts), {"kind": "small"})


TALK_TABLES = {kind: case.Table(said) for kind, (said, _, _) in TALK.items()}
KINDS_OF_TALK = list(TALK) + ["joke", "hello", "thanks", "human"]
# These can be followed by the name of the model or another word.
DRESS = ["{t}", "{t}", "{t}", "{t}", "{t}", "{t}", "{t}", "pebble, {t}", "{t} :)", "so {t}", "well, {t}", "and {t}",
         "{t}..", "oh, {t}", "hey, {t}", "{t}, pebble", "um, {t}"]


def exchange(rng, held_out, kind=None):
    """(user, model, words of which the answer needs one), for small talk."""
    kind = kind or rng.choice(KINDS_OF_TALK)
    said = TALK_TABLES[kind].pick(rng, held_out)
    text = rng.choice(DRESS).format(t=said)
    if text.endswith("?, pebble"):
        text = text[:-len("?, pebble")] + ", pebble?"
    elif text.endswith(("!, pebble", "!..")):
        text = said
    _, answers, must = TALK[kind]
    answer = rng.choice(answers)
    return case.casual(rng, polish(text)), answer, must or [answer]


def talk(rng, held_out):
    kind = rng.choice(KINDS_OF_TALK)
    user, model, must = exchange(rng, held_out, kind)
    texts = [user, model]
    if kind == "joke":
        # Any of the jokes will do, so the start of each counts.
        must = [joke.split("?")[0] for joke in TALK["joke"][1]]
    if rng.random() < 0.15:
        before = exchange(rng, held_out)
        texts = [*before[:2], *texts]
    return case.Case(case.turns(rng, held_out, *texts), {"kind": "facts", "all": [must], "topic": kind})


STATEMENTS = {key: case.Table(said) for key, (said, _, _, _) in TOLD.items()}
QUESTIONS = {key: case.Table(asked) for key, (_, _, asked, _) in TOLD.items()}
KEYS = ["name"] * 8 + list(TOLD)
PETS = case.Table(["cat", "dog", "hamster", "horse", "rabbit", "parrot", "fish", "turtle", "mouse", "pig", "goat",
                   "snake", "hen", "pony"])
ASK_SELVES, SYSTEM_USERS, SYSTEM_SELVES = case.Table(ASK_SELF), case.Table(SYSTEM_USER), case.Table(SYSTEM_SELF)


def value(rng, held_out, key):
    """{v} and {x} of a fact that the user tells."""
    if key in ("name", "pet", "relative"):
        x = {"name": "", "pet": PETS.pick(rng, held_out), "relative": rng.choice(RELATIVES)}[key]
        return {"v": names.person(rng, held_out, 0.5), "x": x}
    if key == "age":
        return {"v": str(rng.randint(5, 99)), "x": ""}
    table = {"favorite color": names.COLOURS, "favorite animal": names.ANIMALS, "city": names.CITIES,
             "job": names.PROFESSIONS}[key]
    return {"v": table.pick(rng, held_out), "x": ""}


def put(text, slots):
    return text.format(V=slots["v"].capitalize(), **slots)


def tell(rng, held_out, key, slots):
    """(user, model) where the user tells it."""
    said = polish(put(STATEMENTS[key].pick(rng, held_out), slots))
    answer = polish(put(rng.choice(TOLD[key][1]), slots))
    # Names in lower case are capitalised in the answer.
    return case.casual(rng, said, lower=rng.random() < 0.3), answer


def ask(rng, held_out, key, slots, known):
    """(user, model, check) where the user asks for it."""
    question = case.casual(rng, polish(put(QUESTIONS[key].pick(rng, held_out), slots)))
    if not known:
        return question, put(UNKNOWN[key], slots), {"kind": "facts", "all": [["do not know"]], "topic": "memory"}
    answer = polish(put(rng.choice(TOLD[key][3]), slots))
    return question, answer, {"kind": "facts", "all": [[slots["v"]]], "topic": "memory"}


def between(rng, held_out):
    """Other talk between telling and asking."""
    if rng.random() < 0.4:
        return limit(rng, held_out)[:2]
    return exchange(rng, held_out)[:2]


def by_system(rng, held_out):
    """A name that the system message gives: the user's or the assistant's."""
    slots = {"v": names.person(rng, held_out, 0.5), "x": ""}
    if rng.random() < 0.5:
        message = SYSTEM_USERS.pick(rng, held_out).format(**slots)
        user, model, check = ask(rng, held_out, "name", slots, True)
        if model.endswith("as you told me."):
            model = f"Your name is {slots['v']}."
    else:
        message = SYSTEM_SELVES.pick(rng, held_out).format(**slots)
        user = case.casual(rng, polish(ASK_SELVES.pick(rng, held_out)))
        model = rng.choice(IS_SELF).format(**slots)
        check = {"kind": "facts", "all": [[slots["v"]]], "topic": "memory"}
    # Something beyond its limits in between: small talk would mention pebble, whatever its name is here.
    texts = [*limit(rng, held_out)[:2], user, model] if rng.random() < 0.2 else [user, model]
    turns = [("user" if i % 2 == 0 else "model", text) for i, text in enumerate(texts)]
    return case.Case([("system", message)] + turns, check)


def memory(rng, held_out):
    if rng.random() < 0.25:
        return by_system(rng, held_out)
    told = []
    for key in dict.fromkeys(rng.choices(KEYS, k=rng.choice((1, 1, 1, 2, 2)))):
        slots = value(rng, held_out, key)
        if all(slots["v"] != other["v"] for _, other in told):
            told.append((key, slots))
    texts = []
    for key, slots in told:
        texts += tell(rng, held_out, key, slots)
    if rng.random() < 0.15:
        # The user never told it, or told something else.
        key = rng.choice([k for k in KEYS if k not in dict(told)])
        if rng.random() < 0.5:
            texts = []
        user, model, check = ask(rng, held_out, key, value(rng, held_out, key), False)
    elif rng.random() < 0.15:
        # The user only tells it.
        return case.Case(case.turns(rng, held_out, *texts), told_check(told[-1], texts[-1]))
    else:
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            texts += between(rng, held_out)
        key, slots = rng.choice(told)
        user, model, check = ask(rng, held_out, key, slots, True)
    return case.Case(case.turns(rng, held_out, *texts, user, model), check)


def told_check(last, answer):
    """The acknowledgement must repeat the value if ours does."""
    value_told = last[1]["v"]
    must = value_told if value_told.lower() in answer.lower() else answer
    return {"kind": "facts", "all": [[must]], "topic": "memory"}


def sample(rng, held_out):
    r = rng.random()
    if r < 0.6:
        return limits(rng, held_out)
    return talk(rng, held_out) if r < 0.8 else memory(rng, held_out)
