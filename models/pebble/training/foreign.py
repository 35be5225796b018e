"""Replaces words that the answer must copy by invented words. A model that has seen
a kitten in a thousand stories writes about kittens; one that has seen a blorf and a
smerk once each has learned to look at the request."""

import re

from topics import invent
from topics.case import Case

SHARE = 0.4  # of the cases in which words may be replaced
WORD = re.compile(r"(?<![\w-])[A-Za-z]{3,}(?![\w-])")
# Words that are never replaced: those of grammar, of requests and of JSON.
KEPT = set("""
    the and was were but for his her hers him she they them their had has have not who what with that this there then than
    one two three four five six seven eight nine ten day story stories tale once upon time lived live lives called named name
    names true false null yes none all some every very from into over under about like likes liked friend friends good best
    are you your can could would will shall its our out off too did does do done more most less least when where which why how
    said says say told tell tells asked please help helped helps thank thanks thanked happy sad short shorter long old new
    little small big great end ending again also back came come comes went gone goes got get gets gave give gives made make
    makes took take takes found find finds lost lose loses saw see sees know knows knew only just even still never ever always
    json array object key keys value values list tool tools call calls add change remove rename set hello today tomorrow
    after before until while because first second last next other another each both many much own same such
    """.split())


def shared(turns):
    """Words of the user that the model repeats later, in lower case."""
    said, out = set(), []
    for role, text in turns:
        words = {w.lower() for w in WORD.findall(text)}
        if role == "user":
            said |= words
        elif role == "model":
            out += sorted(words & said - KEPT)
    return list(dict.fromkeys(out))


def replacement(rng, word):
    """An invented word; it begins with a vowel if `word` does, so that "a" and "an" stay right."""
    text = invent.word(rng, False)
    return rng.choice("aeiou") + text if word[0] in "aeiou" else text


def replaced(rng, case):
    """The conversation with some of its shared words replaced everywhere; it has no check."""
    known = shared(case.turns)
    chosen = {w: replacement(rng, w) for w in known if rng.random() < 0.5}
    if not chosen:
        return case

    def instead(match):
        new = chosen.get(match[0].lower())
        if new is None:
            return match[0]
        return new.upper() if match[0].isupper() else new.capitalize() if match[0][0].isupper() else new

    turns = [(role, WORD.sub(instead, text)) for role, text in case.turns]
    return Case(turns)
