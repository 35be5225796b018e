"""What the topics have in common: a conversation with the way its last answer is
judged, the split between training and held-out worlds, and how people write."""

import hashlib
from dataclasses import dataclass, field

# One in this many names, phrasings or numbers belongs to the held-out world.
HELD_OUT_SHARE = 8


@dataclass
class Case:
    """`turns` holds (role, text): at most one "system" first, then "user" and
    "model" in alternation; the last is the model's. `check` says how an answer
    in its place is judged, see evaluate."""

    turns: list
    check: dict = field(default_factory=dict)


def held(key):
    """Whether this string belongs to the held-out world; the same on every machine."""
    return hashlib.blake2b(key.encode(), digest_size=4).digest()[0] % HELD_OUT_SHARE == 0


def split(items, held_out, key=str):
    """The items of one world. Call it once per table, at import."""
    return [item for item in items if held(key(item)) == held_out]


class Table:
    """Items in two worlds: TABLE.pick(rng, held_out)."""

    def __init__(self, items, key=str):
        self.world = {False: split(items, False, key), True: split(items, True, key)}
        if not self.world[False] or not self.world[True]:
            # A small table: both worlds see all of it, there is nothing to hold out.
            self.world = {False: list(items), True: list(items)}

    def pick(self, rng, held_out):
        return rng.choice(self.world[held_out])

    def sample(self, rng, held_out, n):
        return rng.sample(self.world[held_out], n)


SYSTEMS = [
    "You are a helpful assistant.",
    "You are a helpful, honest assistant.",
    "You are pebble.",
    "You are pebble, the small model that comes with vug.",
    "You are a friendly assistant.",
    "You are an assistant. Answer truthfully.",
    "Be brief.",
    "Be concise and polite.",
    "Answer in one sentence.",
    "Keep your answers short.",
    "You are a friendly assistant for children.",
    "You answer questions.",
    "Answer the question of the user.",
    "You are a careful assistant who thinks before answering.",
    "Please be polite.",
    "You are a chat bot inside a terminal program.",
]
TABLE_OF_SYSTEMS = Table(SYSTEMS)


def system(rng, held_out=False):
    """A system message, or None in most conversations."""
    return TABLE_OF_SYSTEMS.pick(rng, held_out) if rng.random() < 0.3 else None


def turns(rng, held_out, *texts):
    """user, model, user, model, ... with a system message in front now and then."""
    out = [("user" if i % 2 == 0 else "model", text) for i, text in enumerate(texts)]
    message = system(rng, held_out)
    return [("system", message)] + out if message else out


def one_of(rng, *options):
    return rng.choice(options)


NEIGHBOURS = dict(zip("abcdefghijklmnopqrstuvwxyz",
                      ["sq", "vn", "xv", "sf", "wr", "dg", "fh", "gj", "uo", "hk", "jl", "k", "n", "bm",
                       "ip", "o", "wa", "et", "ad", "ry", "yi", "cb", "qe", "zc", "tu", "xs"]))


def typo(rng, text):
    """One slip of the fingers in a word of four letters or more. Names, numbers and
    what is capitalised stay as they are: what the answer must copy is never spoilt."""
    words = text.split(" ")
    fit = [i for i, w in enumerate(words) if len(w) >= 4 and w.isalpha() and w.islower()]
    if not fit:
        return text
    i = rng.choice(fit)
    w = words[i]
    at = rng.randrange(1, len(w) - 1)
    kind = rng.randrange(4)
    if kind == 0:
        w = w[:at] + w[at + 1:]
    elif kind == 1:
        w = w[:at] + w[at] + w[at:]
    elif kind == 2:
        w = w[:at] + w[at + 1] + w[at] + w[at + 2:]
    else:
        near = NEIGHBOURS.get(w[at], w[at])
        w = w[:at] + rng.choice(near) + w[at + 1:]
    words[i] = w
    return " ".join(words)


def casual(rng, text, lower=True, slips=True):
    """As people type: sometimes without capitals, marks at the end, or with a slip.
    `lower=False` where capitals carry meaning, as in names; `slips=False` where the
    answer depends on the letters of small words."""
    r = rng.random()
    if lower and r < 0.15:
        text = text.lower()
    elif r < 0.20 and text[:1].isupper() and text[1:2].islower():
        text = text[0].lower() + text[1:]
    r = rng.random()
    if r < 0.18:
        text = text.rstrip("?.!")
    elif r < 0.22 and text.endswith("?"):
        text += "?"
    if slips and rng.random() < 0.06:
        text = typo(rng, text)
    return text


GREETINGS = ["Hi", "Hello", "Hey", "Hi there", "Hello there", "Good morning", "Good evening", "Hey pebble",
             "Hi pebble", "Hello pebble", "Hallo", "Greetings"]
OPENERS = ["Please tell me:", "Quick question:", "I have a question.", "Question:", "One more thing:", "Tell me,",
           "Could you help me?", "I need help.", "Help me, please.", "So,", "Ok,", "Well,", "Say,", "Now,", "Also,",
           "Sorry to bother you.", "I am new here.", "Just curious:", "I wonder:"]
CLOSERS = ["Thanks!", "Thank you!", "Thanks in advance.", "Please.", "Please help.", "Thx", "I am curious."]


def wrap(rng, text):
    """A greeting, an opener or a closer around a message, now and then."""
    r = rng.random()
    if r < 0.06:
        text = f"{rng.choice(GREETINGS)}{rng.choice([',', '!', '.'])} {text}"
    elif r < 0.14:
        text = f"{rng.choice(OPENERS)} {text}"
    if rng.random() < 0.06:
        text = f"{text} {rng.choice(CLOSERS)}"
    return text
