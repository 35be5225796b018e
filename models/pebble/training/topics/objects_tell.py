"""Objects and how people describe them, for the topic "objects": in sentences, in phrases, in pairs, in lines."""

import re
from dataclasses import dataclass

from . import case, invent, names
from . import objects_data as data
from .objects_phrases import PHRASES


@dataclass
class Field:
    """One member of an object and the sentences that state it (none for an invented key)."""
    key: str
    value: object
    clauses: tuple = ()
    also: tuple = ()


@dataclass
class Thing:
    kind: str
    subject: str
    fields: list
    spare: list

    def value(self):
        return {field.key: field.value for field in self.fields}


KINDS = list(data.KINDS)


def known(rng, held_out, low=2, high=6):
    """An object of a kind. The held-out world also has the kinds of training, with other values."""
    kind = rng.choice(KINDS)
    subject, attributes = data.KINDS[kind]
    count = min(rng.randint(low, high), len(attributes))
    if subject and rng.random() < 0.85:
        chosen = [attributes[0]] + rng.sample(attributes[1:], count - 1)
    else:
        chosen = rng.sample(attributes, count)
    if rng.random() < 0.5:
        chosen.sort(key=attributes.index)
    fields = []
    for attribute in chosen:
        value = None if rng.random() < 0.02 and attribute.draw is not invent.boolean else attribute.draw(rng, held_out)
        fields.append(Field(attribute.key, value, attribute.clauses, attribute.also))
    spare = [attribute.key for attribute in attributes if attribute not in chosen]
    return Thing(kind, subject if subject in [field.key for field in fields] else "", fields, spare)


SCALARS = [invent.word, invent.word, invent.capital, invent.capital, invent.title, invent.title, invent.full_name,
           invent.thing, invent.colour, invent.food, invent.code, invent.code, invent.date, invent.time, invent.email,
           invent.version, invent.city, invent.integer(0, 12), invent.integer(13, 120), invent.integer(13, 9999),
           invent.integer(-99, -1), invent.integer(100, 999999), invent.decimal(0, 20),
           invent.decimal(1, 99, 2), invent.decimal(0, 1, 3)]
ITEMS = [invent.word, invent.tag, invent.food, invent.capital, invent.colour, invent.thing, invent.integer(0, 12),
         invent.integer(13, 500), invent.decimal(0, 20), invent.code, invent.city, invent.first_name]
JOINS = ["{}_{}", "{}_{}", "{}_{}", "{}{}", "{}-{}"]


def made_key(rng, held_out):
    """A key that the model may never have seen: a word, an invented one, or two of them."""
    r = rng.random()
    if r < 0.4:
        return rng.choice(data.KEYS)
    if r < 0.65:
        return invent.word(rng, held_out)
    left = rng.choice(data.KEYS) if rng.random() < 0.6 else invent.word(rng, held_out)
    right = rng.choice(data.KEYS) if rng.random() < 0.6 else invent.word(rng, held_out)
    join = rng.choice(JOINS)
    return join.format(left, right.capitalize() if join == "{}{}" else right)


def made_field(rng, held_out, scalars=False):
    r = 0 if scalars else rng.random()
    if r < 0.76:
        return Field(made_key(rng, held_out), rng.choice(SCALARS)(rng, held_out))
    if r < 0.86:
        return Field(rng.choice(data.FLAGS) if rng.random() < 0.6 else "is_" + rng.choice(data.FLAGS),
                     rng.random() < 0.5)
    if r < 0.95:
        key = rng.choice(data.LISTS) if rng.random() < 0.6 else invent.word(rng, held_out) + "s"
        return Field(key, invent.several(rng.choice(ITEMS), 2, 5)(rng, held_out))
    if r < 0.98:
        return Field(made_key(rng, held_out), None)
    members = {made_key(rng, held_out): rng.choice(SCALARS)(rng, held_out) for _ in range(2)}
    return Field(made_key(rng, held_out), members)


def made(rng, held_out, low=1, high=6, scalars=False):
    """An object of invented keys and values."""
    fields = {}
    for _ in range(rng.randint(low, high)):
        field = made_field(rng, held_out, scalars)
        fields[field.key.lower()] = field
    kind = rng.choice(("object", "thing", "item", "record", "entry"))
    if rng.random() < 0.4:
        kind = invent.word(rng, held_out)
    return Thing(kind, "", list(fields.values()), [])


def thing(rng, held_out):
    return known(rng, held_out) if rng.random() < 0.6 else made(rng, held_out)


def plain(rng, value, quotes=0.0):
    """A value inside a sentence."""
    if isinstance(value, bool):
        return rng.choice(("true", "yes") if value else ("false", "no"))
    if value is None:
        return rng.choice(("unknown", "not known", "null", "unknown"))
    if isinstance(value, list):
        parts = [plain(rng, item, 0) for item in value]
        return invent.listed(parts) if rng.random() < 0.75 else ", ".join(parts)
    if isinstance(value, dict):
        return invent.listed([f"{key} {plain(rng, item)}" for key, item in value.items()])
    if isinstance(value, str) and quotes and rng.random() < quotes:
        return f'"{value}"'
    return str(value)


CLAUSES = ["The {k} is {v}", "The {k} is {v}", "Its {k} is {v}", "~ has the {k} {v}", "The {k} should be {v}",
           "{k} is {v}", "{k}: {v}", "{k} = {v}", "Set {k} to {v}", "As {k} take {v}", "It has {v} as {k}",
           "Let the {k} be {v}"]
NESTED = ["The {k} has the {v}", "{k}: {v}", "The {k} is {v}", "~ has the {k} {v}"]
MANY = ["The {k} are {v}", "Its {k} are {v}", "~ has the {k} {v}", "{k}: {v}", "As {k} take {v}", "{k} are {v}"]


def clause(rng, field, quotes):
    """A sentence, with ~ for the subject, that states one member."""
    value = field.value
    said = field.clauses
    if value is None:
        return rng.choice(("The {k} is unknown", "The {k} is not known", "Nobody knows the {k}", "{k}: unknown",
                           "The {k} is null", "{k} is null")).replace("{k}", field.key)
    if isinstance(value, bool):
        if said and rng.random() < 0.8:
            return rng.choice(said)[0 if value else 1]
        if not said and rng.random() < 0.5 and not field.key.startswith("is_"):
            return f"~ is {field.key}" if value else f"~ is not {field.key}"
        return f"{field.key} is {plain(rng, value)}" if rng.random() < 0.6 else f"{field.key}: {plain(rng, value)}"
    if said and rng.random() < 0.7:
        text = plain(rng, value, quotes if isinstance(value, str) else 0)
        if isinstance(value, int) and 1 < value <= invent.SMALL and rng.random() < 0.15:
            text = invent.NUMBER_WORDS[value]
        return rng.choice(said).replace("{}", text)
    form = rng.choice(MANY if isinstance(value, list) else NESTED if isinstance(value, dict) else CLAUSES)
    return form.replace("{k}", field.key).replace("{v}", plain(rng, value, quotes))


def sentences(rng, held_out, one):
    """The object in sentences. Reorders its members to the order of the text."""
    quotes = rng.choice((0, 0, 0, 0.5, 1))
    kind = one.kind
    subject, pronoun = rng.choice((f"The {kind}", f"My {kind}", f"This {kind}", f"The {kind}")), "It"
    whose = "Its"
    fields = one.fields
    skip = None
    if one.subject:
        leader = next(field for field in fields if field.key == one.subject)
        if isinstance(leader.value, str):
            follow = any("~" in text for field in fields[1:] for text in field.clauses if isinstance(text, str))
            if fields[0] is leader and follow and rng.random() < 0.6:
                skip, subject = leader, leader.value
                if leader.key != "name" or rng.random() < 0.15:
                    subject = f"The {kind} {leader.value}"
            if kind == "person":
                pronoun = names.pronoun(leader.value.split()[0]).capitalize()
                whose = "His" if pronoun == "He" else "Her"
    said = [clause(rng, field, quotes) for field in fields if field is not skip]
    if skip and "~" not in said[0]:
        # The name must be mentioned before it can be omitted.
        at = next((i for i, text in enumerate(said) if "~" in text), None)
        if at is None:
            said.insert(0, clause(rng, skip, quotes))
            skip = None
        else:
            moved = [field for field in fields if field is not skip]
            said.insert(0, said.pop(at))
            moved.insert(0, moved.pop(at))
            one.fields = [skip] + moved
    first = True
    for i, text in enumerate(said):
        if text.startswith("~"):
            who = subject if first else rng.choice((pronoun, pronoun, pronoun, subject))
            text = who + text[1:]
        elif text.startswith("Its "):
            text = whose + text[3:]
        first = first and not text.startswith(subject)
        said[i] = AN.sub(r"\1n ", text)
    style = rng.random()
    if style < 0.7:
        return " ".join(text + "." for text in said)
    said = [text if i == 0 or not text.startswith(("The ", "It ", "Its ", "He ", "She ", "There ", "My ")) else
            text[0].lower() + text[1:] for i, text in enumerate(said)]
    if style < 0.85:
        return ", ".join(said) + rng.choice((".", ""))
    return ", ".join(said[:-1]) + (", and " if len(said) > 1 else "") + said[-1] + "."


AN = re.compile(r"\b([Aa]) (?=[aeiou])")
SLOT = re.compile(r"{(\w+)}")
SLOTS = {held_out: {kind: [(phrase, SLOT.findall(phrase)) for phrase in case.split(phrases, held_out) or phrases]
                    for kind, phrases in PHRASES.items()} for held_out in (False, True)}


def phrase_of(rng, held_out):
    """(object, text), where one phrase states several members, as in "a black cat named Tom"."""
    kind = rng.choice(KINDS)
    attributes = {attribute.key: attribute for attribute in data.KINDS[kind][1]}
    text, keys = rng.choice(SLOTS[held_out == case.ALL_OTHER][kind])
    fields = [Field(key, attributes[key].draw(rng, held_out), (), attributes[key].also) for key in keys]
    one = Thing(kind, "", fields, [key for key in attributes if key not in keys])
    for field in fields:
        text = text.replace("{%s}" % field.key, plain(rng, field.value), 1)
    if text.endswith(".") and rng.random() < 0.25:
        # Further members get sentences of their own.
        more = rng.sample(one.spare, min(len(one.spare), rng.randint(1, 2)))
        added = [Field(key, attributes[key].draw(rng, held_out), attributes[key].clauses,
                       attributes[key].also) for key in more]
        rest = Thing(kind, "", added, [])
        text += " " + sentences(rng, held_out, rest).rstrip(".") + "."
        one.fields = fields + rest.fields
        one.spare = [key for key in one.spare if key not in more]
    return one, AN.sub(r"\1n ", text)


def inline_value(rng, value, quotes):
    if isinstance(value, list):
        parts = [plain(rng, item, quotes) for item in value]
        return f"[{', '.join(parts)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {plain(rng, item, quotes)}" for key, item in value.items()) + "}"
    return plain(rng, value, quotes)


PAIRS = [("{k} {v}", ", "), ("{k} {v}", ", "), ("{k}: {v}", ", "), ("{k}: {v}", "; "), ("{k}={v}", ", "),
         ("{k} = {v}", ", "), ("{k} is {v}", ", "),
         ("the {k} {v}", ", "), ("{k} set to {v}", ", "), ("{k} being {v}", ", "), ("{k}={v}", "; "),
         ("{v} as {k}", ", "), ("{v} for {k}", ", "),
         ("{k} -> {v}", ", "), ("{k} ({v})", ", ")]


def pairs(rng, held_out, one):
    """name Tom, age 5 and colour red"""
    form, join = rng.choice(PAIRS)
    quotes = rng.choice((0, 0, 1))
    parts = [form.replace("{k}", field.key).replace("{v}", inline_value(rng, field.value,
        quotes)) for field in one.fields]
    if join == ", " and rng.random() < 0.5:
        return invent.listed(parts)
    return join.join(parts)


LINES = ["{k}: {v}", "{k}: {v}", "- {k}: {v}", "* {k}: {v}", "{k} = {v}", "{k}={v}", "{k} - {v}", "- {k} = {v}",
         "{k} -> {v}", "| {k} | {v} |",
         "{k}\t{v}", "{k} is {v}", "{k} : {v}"]
KEY_STYLES = [str, str, str, str, str.capitalize, str.upper, lambda key: key.replace("_", " ").capitalize(),
              lambda key: key.replace("_", " ")]


def lines(rng, held_out, one):
    """One member per line. Answers copy the keys as they are written here."""
    form = rng.choice(LINES)
    style = rng.choice(KEY_STYLES)
    quotes = rng.choice((0, 0, 0, 1))
    out = []
    for number, field in enumerate(one.fields, 1):
        field.key = style(field.key)
        value = field.value
        if isinstance(value, dict) and form == "{k}: {v}":
            out.append(f"{field.key}:")
            out += [f"  {key}: {plain(rng, item, quotes)}" for key, item in value.items()]
            continue
        if isinstance(value, list) and form == "{k}: {v}" and rng.random() < 0.3:
            out.append(f"{field.key}:")
            out += [f"  - {plain(rng, item, quotes)}" for item in value]
            continue
        text = ", ".join(plain(rng, item, quotes) for item in value) if isinstance(value,
            list) and rng.random() < 0.6 else \
            inline_value(rng, value, quotes)
        out.append(form.replace("{k}", field.key).replace("{v}", text))
    return "\n".join(out)
