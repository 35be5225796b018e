"""Repeating what somebody said: a small skill of its own that also teaches the model to
copy words that it has never seen."""

import string

from topics import invent
from topics.case import Case, Table, casual, system
from topics.sorting import WORDS

ORDERS = [
    "Repeat after me: {x}", "Repeat: {x}", "repeat: {x}", "Please repeat: {x}", "Repeat this: {x}", "Repeat this text: {x}",
    "Say: {x}", "Please say: {x}", "say \"{x}\"", "Say \"{x}\".", "Can you say \"{x}\"?", "Say exactly this: {x}", "Echo: {x}",
    "echo {x}", "Write \"{x}\".", "Please write this: {x}", "Write exactly this: {x}", "Copy this: {x}", "Copy this text: {x}",
    "Can you repeat \"{x}\"?", "Repeat the words \"{x}\".", "Repeat these words: {x}", "Print: {x}", "Answer with \"{x}\".",
    "Reply with exactly this: {x}", "Output this text and nothing else: {x}", "Just say \"{x}\".", "Reply only with: {x}",
    "Echo this: {x}", "Echo the following: {x}", "Please echo: {x}", "Write this: {x}", "Please write: {x}", "write: {x}", "Write: {x}",
    "Could you repeat this for me: {x}", "Please copy: {x}", "Please say this: {x}", "Please repeat this: {x}", "I say \"{x}\", you say the same.",
]
ORDERS = Table(ORDERS)
SHORT = "a an and the of to in on is was my your with for not at by it".split()


def letters(rng):
    return "".join(rng.choice(string.ascii_letters + string.digits) for _ in range(rng.randrange(2, 8)))


def word(rng, held_out):
    r = rng.random()
    if r < 0.35:
        text = invent.word(rng, held_out)
    elif r < 0.65:
        text = WORDS.pick(rng, held_out)
    elif r < 0.80:
        text = rng.choice(SHORT)
    elif r < 0.90:
        text = str(rng.randrange(10 ** rng.randrange(1, 6)))
    else:
        text = letters(rng)
    return text.capitalize() if rng.random() < 0.15 else text


def sample(rng, held_out):
    text = " ".join(word(rng, held_out) for _ in range(rng.choice([1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 10])))
    order = ORDERS.pick(rng, held_out).format(x=text)
    message = system(rng, held_out)
    turns = [("system", message)] if message else []
    turns += [("user", casual(rng, order, lower=False, slips=False)), ("model", text)]
    return Case(turns, {"kind": "facts", "topic": "echo", "all": [[text]]})
