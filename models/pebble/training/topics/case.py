"""What the topics share: a conversation with the check of its last answer, the split
between training and held-out worlds, and how people write."""

import hashlib
import re
from dataclasses import dataclass, field

# One in this many names, phrasings or numbers is held out.
HELD_OUT_SHARE = 8
# The worlds that topics get in `held_out`: the training world; the phrasings of training
# with held-out names, numbers and tools; held-out phrasings, too.
TRAINING, OTHER_NAMES, ALL_OTHER = range(3)


@dataclass
class Case:
    """`turns` holds (role, text): at most one "system" first, then "user" and
    "model" in alternation; the last is the model's. `check` says how to judge an
    answer in its place; see judge."""

    turns: list
    check: dict = field(default_factory=dict)


def held(key):
    """Whether this string is held out; the result is the same on every machine."""
    return hashlib.blake2b(key.encode(), digest_size=4).digest()[0] % HELD_OUT_SHARE == 0


WORDS_OF = re.compile(r"\{[^}]*\}|([a-z]+)")


def words_of(text):
    return {m[1] for m in WORDS_OF.finditer(text.lower()) if m[1]}


def split(phrasings, held_out):
    """The held-out phrasings, or the others. A phrasing is held out only if other phrasings of the same
    list have all of its words: a model that never saw "tale" cannot know it. The result may be empty."""
    train = [p for p in phrasings if not held(p)]
    known = set().union(*map(words_of, train))
    out = []
    for p in phrasings:
        if held(p):
            if words_of(p) <= known and len(train) > 1:
                out.append(p)
            else:
                train.append(p)
                known |= words_of(p)
    return out if held_out else train


class Table:
    """Phrasings or words: TABLE.pick(rng, held_out). If nothing can be held out, every world
    has all items."""

    def __init__(self, items):
        items = list(items)
        self.world = {False: split(items, False), True: split(items, True) or items}

    def pick(self, rng, held_out):
        return rng.choice(self.world[self.key(held_out)])

    def sample(self, rng, held_out, n):
        return rng.sample(self.world[self.key(held_out)], n)

    @staticmethod
    def key(held_out):
        return held_out == ALL_OTHER


class Names(Table):
    """Names: each belongs to one world only, so that the model copies it and cannot know it."""

    def __init__(self, items):
        self.world = {h: [item for item in items if held(item) == h] for h in (False, True)}

    @staticmethod
    def key(held_out):
        return held_out != TRAINING


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


def system(rng, held_out=TRAINING):
    """A system message, or None in most conversations."""
    return TABLE_OF_SYSTEMS.pick(rng, held_out) if rng.random() < 0.3 else None


def turns(rng, held_out, *texts):
    """user, model, user, model, ... sometimes with a system message in front."""
    out = [("user" if i % 2 == 0 else "model", text) for i, text in enumerate(texts)]
    message = system(rng, held_out)
    return [("system", message)] + out if message else out


def one_of(rng, *options):
    return rng.choice(options)


NEIGHBOURS = dict(zip("abcdefghijklmnopqrstuvwxyz",
                      ["sq", "vn", "xv", "sf", "wr", "dg", "fh", "gj", "uo", "hk", "jl", "k", "n", "bm",
                       "ip", "o", "wa", "et", "ad", "ry", "yi", "cb", "qe", "zc", "tu", "xs"]))


def typo(rng, text):
    """A typing error in a word of four letters or more. Names, numbers and capitalised
    words are not changed, so that the answer can copy them."""
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
    """The text as people type it: sometimes without capitals or punctuation at the end, or
    with a typing error. Use `lower=False` if capitals carry meaning, as in names, and
    `slips=False` if the answer depends on the letters of small words."""
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
    """Sometimes adds a greeting, an opener or a closer to a message."""
    r = rng.random()
    if r < 0.06:
        text = f"{rng.choice(GREETINGS)}{rng.choice([',', '!', '.'])} {text}"
    elif r < 0.14:
        text = f"{rng.choice(OPENERS)} {text}"
    if rng.random() < 0.06:
        text = f"{text} {rng.choice(CLOSERS)}"
    return text
