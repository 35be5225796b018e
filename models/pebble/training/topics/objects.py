"""Answers in JSON for an object that the user describes: in sentences, in lines, in a list of
keys and values, with keys named by the user or not; lists; and changes of an object.

The rules of the answers are the same everywhere, so that they can be learnt: an answer is only the JSON, on
one line; keys that the user names or writes are copied exactly and keep their order; if a sentence names no
key, the plain noun is the key (objects_data); a number with a unit becomes the number; yes and no become true
and false; an unknown value, or a named key that the text does not mention, is null."""

import itertools
import json

from . import case, invent
from . import objects_asks as asks
from . import objects_data as data
from .objects_tell import (Field, ITEMS, SCALARS, Thing, inline_value, known, lines, made, made_field, made_key, pairs,
                           phrase_of, plain, sentences, thing)

Case = case.Case


def answer(value):
    return json.dumps(value)


# -- Messages. -------------------------------------------------------------------------------------

def key_list(rng, keys):
    r = rng.random()
    if r < 0.15:
        keys = [f'"{key}"' for key in keys]
    elif r < 0.20:
        keys = [f"`{key}`" for key in keys]
    elif r < 0.24:
        keys = [f"'{key}'" for key in keys]
    r = rng.random()
    if r < 0.45:
        return ", ".join(keys)
    if r < 0.85:
        return invent.listed(keys)
    if r < 0.95:
        return invent.listed(keys, ", and " if len(keys) > 2 else " and ")
    return "[" + ", ".join(keys) + "]"


SINGULAR = [("keys", "key"), ("fields", "field"), ("these", "this"), ("key are", "key is"), ("field are", "field is"),
            ("attributes", "attribute"), ("properties", "property"), ("members", "member")]


def named(rng, form, keys):
    """A request with its list of keys, in the singular for one key."""
    if len(keys) == 1:
        for many, single in SINGULAR:
            form = form.replace(many, single)
    return form.format(key_list(rng, keys))


def request(rng, held_out, kind, keys=None, before=True):
    """What to do, with the keys if there are any: Convert this to JSON with the keys a and b"""
    if rng.random() < (0.75 if before else 0.4):
        text = asks.REQUESTS.pick(rng, held_out).replace("KIND", kind)
    else:
        text = asks.SHORT.pick(rng, held_out)
    if keys:
        text = f"{text} {named(rng, asks.WITH_KEYS.pick(rng, held_out), keys)}"
    r = rng.random()
    if r < 0.3:
        if text[1:2].islower() and not text.startswith("I "):
            text = text[0].lower() + text[1:]
        text = rng.choice(asks.POLITE).format(text)
    elif r < 0.75:
        text = text[0].upper() + text[1:]
    if keys is None:
        text = case.casual(rng, text)
    return text


def message(rng, held_out, kind, text, keys=None):
    """A description and the request, in one of the orders in which people write them."""
    wide = "\n" in text
    then = None
    if keys and rng.random() < 0.3:
        then, keys = named(rng, asks.THEN_KEYS.pick(rng, held_out), keys), None
    before = rng.random() < 0.55
    ask = request(rng, held_out, kind, keys, before)
    if before:
        if ask.endswith(("?", "!", ".")):
            join = "\n" if wide or rng.random() < 0.4 else " "
        else:
            join = ":\n" if wide or rng.random() < 0.2 else rng.choice((": ", ": ", ": ", ". ", " - "))
        if rng.random() < 0.06 and '"' not in text:
            text = f'"{text}"'
        out = ask + join + text
        if then:
            out += ("\n" if wide or rng.random() < 0.2 else " ") + then
        return out
    if not wide and text[-1] not in ".!?":
        text += rng.choice((".", ",", " -", ":", ".", "\n")).rstrip(" ")
    if not ask.endswith(("?", "!", ".")) and rng.random() < 0.6:
        ask += "."
    if wide:
        join = rng.choice(("\n\n", "\n", "\n\n"))
    else:
        join = rng.choice((" ", " ", " ", "\n"))
    if text.endswith("\n"):
        join = ""
    return text + join + ask + (f" {then}" if then else "")


def described(rng, held_out, prose=False):
    """(object, text): an object and a description of it; the members have the order of the text."""
    r = rng.random() * (0.7 if prose else 1)
    if r < 0.3:
        return phrase_of(rng, held_out)
    one = thing(rng, held_out)
    how = sentences if r < 0.7 else lines if r < 0.9 else pairs
    text = how(rng, held_out, one)
    return one, text


def exchange(user, value, system=None):
    turns = [("user", user), ("model", answer(value))]
    if system:
        turns.insert(0, ("system", system))
    return Case(turns, {"kind": "json", "value": value})


def with_system(rng, held_out, made_case):
    """The system message of a case that does not need one."""
    if made_case.turns[0][0] != "system":
        text = asks.SYSTEMS.pick(rng, held_out) if rng.random() < 0.15 else case.system(rng, held_out)
        if text:
            made_case.turns.insert(0, ("system", text))
    return made_case


# -- Kinds of conversations. -----------------------------------------------------------------------

def free(rng, held_out):
    """Keys are named only in the description."""
    one, text = described(rng, held_out)
    if rng.random() < 0.12:
        return exchange(text, one.value(), asks.SYSTEMS.pick(rng, held_out))
    return exchange(message(rng, held_out, one.kind, text), one.value())


def asked_keys(rng, one):
    """The keys that the user wants (all, some, in another order, under another name) and the resulting object."""
    fields = list(one.fields)
    r = rng.random()
    if r < 0.25 and len(fields) > 1:
        fields = rng.sample(fields, rng.randint(1, len(fields) - 1))
    elif r < 0.45:
        rng.shuffle(fields)
    value = {}
    taken = {field.key for field in fields}
    for field in fields:
        key = field.key
        if field.also and rng.random() < 0.15:
            other = rng.choice(field.also)
            key = key if other in taken else other
        taken.add(key)
        value[key] = field.value
    if one.spare and rng.random() < 0.05:
        value[rng.choice(one.spare)] = None
    elif rng.random() < 0.02:
        value.setdefault(rng.choice(data.KEYS) + "_id", None)
    return value


def keyed(rng, held_out):
    """The user names the keys."""
    one, text = described(rng, held_out, rng.random() < 0.7)
    value = asked_keys(rng, one)
    keys = list(value)
    r = rng.random()
    if r < 0.12:
        return exchange(text, value, named(rng, asks.SYSTEMS_KEYS.pick(rng, held_out), keys))
    if r < 0.18:
        head = rng.choice(("Keys", "keys", "Keys to use", "JSON keys"))
        return exchange(f"{head}: {key_list(rng, keys)}\n{text}", value, asks.SYSTEMS.pick(rng, held_out))
    return exchange(message(rng, held_out, one.kind, text, keys), value)


TYPES = [(bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"), (dict, "object")]


def schema_type(value):
    return next((name for kind, name in TYPES if isinstance(value, kind)), "string")


def by_schema(rng, held_out):
    """The keys are in a JSON schema or in a form to fill in, as a program sends them."""
    one, text = described(rng, held_out, True)
    value = asked_keys(rng, one)
    if rng.random() < 0.5:
        schema = {"type": "object", "properties": {key: {"type": schema_type(item)} for key, item in value.items()}}
        if rng.random() < 0.6:
            schema["required"] = list(value)
        ask = rng.choice(asks.SCHEMAS).format(json.dumps(schema))
    else:
        blank = rng.choice(("", "...", None))
        parts = {key: schema_type(item) if blank is None else blank for key, item in value.items()}
        form = json.dumps(parts) if rng.random() < 0.7 else "{" + ", ".join(parts) + "}"
        ask = rng.choice(asks.FORMS).format(form)
    r = rng.random()
    if r < 0.4:
        return exchange(text, value, ask)
    return exchange(f"{text}\n{ask}" if r < 0.7 else f"{ask}\n{text}", value)


def values_in_order(rng, held_out):
    """The keys, then the values in the same order: JSON with title, author for Dune, Frank Herbert"""
    one = known(rng, held_out) if rng.random() < 0.5 else made(rng, held_out, 2, 5, True)
    fields = [field for field in one.fields if type(field.value) in (str, int, float)]
    if not fields:
        return keyed(rng, held_out)
    value = {field.key: field.value for field in fields}
    quotes = rng.choice((0, 0, 1))
    values = ", ".join(plain(rng, item, quotes) for item in value.values())
    ask = request(rng, held_out, one.kind, list(value))
    r = rng.random()
    if r < 0.3:
        text = f"{key_list(rng, list(value))}: {values}"
        return exchange(f"{text}. {case.casual(rng, 'As JSON please.')}" if rng.random() < 0.5 else f"JSON: {text}",
                        value)
    if r < 0.5:
        return exchange(f"{ask} for the {one.kind} {values}", value)
    return exchange(f"{ask}{'' if ask[-1] in '?!.' else ':'} {values}", value)


def for_phrase(rng, held_out):
    """The object is a phrase in the request: JSON with keys title and author for the book ..."""
    one, text = phrase_of(rng, held_out)
    while text.endswith("."):
        one, text = phrase_of(rng, held_out)
    if rng.random() < 0.5:
        form = case.casual(rng, asks.FOR_PHRASE.pick(rng, held_out))
        return exchange(form.replace("{}", text), one.value())
    value = asked_keys(rng, one)
    form = asks.FOR_KEYED.pick(rng, held_out)
    if len(value) == 1:
        form = form.replace("keys", "key")
    return exchange(form.replace("{k}", key_list(rng, list(value))).replace("{t}", text), value)


def with_pairs(rng, held_out):
    one = thing(rng, held_out)
    text = pairs(rng, held_out, one)
    ask = asks.WITH_PAIRS.pick(rng, held_out).replace("KIND", one.kind).replace("{}", text)
    return exchange(ask, one.value())


def array(rng, held_out):
    """A list of words or numbers."""
    value = invent.several(rng.choice(ITEMS), 2, 7)(rng, held_out)
    if rng.random() < 0.1:
        value = [rng.choice(SCALARS)(rng, held_out) for _ in range(rng.randint(2, 5))]
    parts = [plain(rng, item, 0) for item in value]
    if rng.random() < 0.15:
        parts = [f'"{part}"' if isinstance(item, str) else part for part, item in zip(parts, value)]
    text = invent.listed(parts) if rng.random() < 0.4 else ", ".join(parts)
    r = rng.random()
    if r < 0.25:
        key = rng.choice(data.LISTS) if rng.random() < 0.5 else made_key(rng, held_out)
        ask = asks.WRAPPED.pick(rng, held_out).replace("{v}", ", ".join(parts)).replace("{k}", key)
        return exchange(ask, {key: value})
    if r < 0.4:
        mark = rng.choice(("- ", "* ", ""))
        text = "\n".join(mark + part for part in parts)
        ask = rng.choice(("JSON array", "As a JSON array", "Make this a JSON list", "a JSON array of these",
                          "Convert to a JSON list", "json list"))
        return exchange(f"{ask}:\n{text}" if rng.random() < 0.7 else f"{text}\n\n{ask}", value)
    return exchange(asks.ARRAYS.pick(rng, held_out).replace("{}", text), value)


def rows(rng, held_out):
    """A list of two or three objects with the same keys."""
    one = known(rng, held_out, 2, 3)
    while any(isinstance(field.value, (dict, list)) or field.value is None for field in one.fields):
        one = known(rng, held_out, 2, 3)
    attributes = {attribute.key: attribute for attribute in data.KINDS[one.kind][1]}
    one.fields.sort(key=lambda field: list(attributes).index(field.key))
    keys = [field.key for field in one.fields]
    many = [one]
    for _ in range(rng.randint(1, 2)):
        fields = [Field(key, attributes[key].draw(rng, held_out), attributes[key].clauses) for key in keys]
        many.append(Thing(one.kind, one.subject, fields, []))
    value = [each.value() for each in many]
    ask = asks.ROWS.pick(rng, held_out).replace("{k}", key_list(rng, keys))
    r = rng.random()
    if r < 0.35:
        text = " ".join(sentences(rng, held_out, each).rstrip(".") + "." for each in many)
    elif r < 0.55:
        text = "\n".join(", ".join(str(plain(rng, field.value)) for field in each.fields) for each in many)
    elif r < 0.75:
        text = "; ".join(pairs_plain(rng, each) for each in many)
    else:
        mark = rng.choice((",", ", ", ";", "\t"))
        table = [mark.join(keys)] + [mark.join(plain(rng, field.value) for field in each.fields) for each in many]
        ask = rng.choice(("This table as JSON", "Convert this CSV to JSON", "CSV to JSON", "As a JSON array",
                          "json list", "Turn this table into a JSON list"))
        return exchange(f"{ask}:\n" + "\n".join(table), value)
    join = "\n" if "\n" in text or rng.random() < 0.3 else " "
    return exchange(f"{ask}:{join}{text}" if rng.random() < 0.5 else f"{text}{join}{ask}.", value)


def pairs_plain(rng, one):
    return ", ".join(f"{field.key} {plain(rng, field.value)}" for field in one.fields)


def example(rng, held_out):
    """There is no description: the answer is the one example of that kind."""
    kind = rng.choice(list(data.EXAMPLES))
    text = asks.EXAMPLE.pick(rng, held_out).replace("KIND", kind)
    return exchange(case.casual(rng, text), dict(data.EXAMPLES[kind]))


# -- Changes of the object in the turn before. ------------------------------------------------------


def edit(rng, held_out, value):
    """(message, new value) of one change."""
    keys = list(value)
    r = rng.random()
    if r < 0.32:
        key = rng.choice(keys)
        new = like(rng, held_out, value[key])
        return asks.CHANGE.pick(rng, held_out).format(k=key, v=plain(rng, new)), {**value, key: new}
    if r < 0.58:
        field = made_field(rng, held_out)
        while field.key.lower() in [key.lower() for key in keys] or isinstance(field.value, dict):
            field = made_field(rng, held_out)
        text = asks.ADD.pick(rng, held_out).format(k=field.key, v=inline_value(rng, field.value, 0))
        return text, {**value, field.key: field.value}
    if r < 0.74 and len(keys) > 1:
        key = rng.choice(keys)
        return asks.REMOVE.pick(rng, held_out).format(k=key), {k: item for k, item in value.items() if k != key}
    if r < 0.87:
        key = rng.choice(keys)
        new = made_key(rng, held_out)
        while new in keys:
            new = made_key(rng, held_out)
        renamed = {new if k == key else k: item for k, item in value.items()}
        return asks.RENAME.pick(rng, held_out).format(k=key, n=new), renamed
    chosen = rng.sample(keys, min(len(keys), 1 if rng.random() < 0.6 else 2))
    text = asks.ONLY.pick(rng, held_out).format(k=key_list(rng, chosen) if len(chosen) > 1 else chosen[0])
    return text, {key: value[key] for key in chosen}


INTEGERS = {3: invent.integer(0, 12), 99: invent.integer(0, 99), 9999: invent.integer(13, 9999)}


def like(rng, held_out, value):
    """Another value for the same key: a number for a number, a flag for a flag."""
    while True:
        if isinstance(value, bool):
            new = not value
        elif isinstance(value, list):
            new = invent.several(rng.choice(ITEMS[:6]), 2, 3)(rng, held_out)
        elif isinstance(value, int):
            new = INTEGERS[3 if abs(value) <= 12 else 99 if abs(value) < 100 else 9999](rng, held_out)
        elif isinstance(value, float):
            new = invent.decimal(0, 60)(rng, held_out)
        else:
            new = rng.choice(SCALARS[:11])(rng, held_out)
        if new != value:
            return new


def follow_up(rng, held_out):
    """A conversation in which the object changes once or twice."""
    opening = rng.choice((free, keyed, with_pairs, with_pairs, values_in_order))(rng, held_out)
    value = opening.check["value"]
    turns = opening.turns
    for _ in range(1 if rng.random() < 0.7 else 2):
        text, value = edit(rng, held_out, value)
        turns += [("user", text), ("model", answer(value))]
    r = rng.random()
    if r < 0.07:
        key = rng.choice(list(value))
        if isinstance(value[key], (str, int, float)) and not isinstance(value[key], bool):
            turns += [("user", asks.ASK.pick(rng, held_out).format(k=key)), ("model", f"The {key} is {value[key]}.")]
            return Case(turns, {"kind": "facts", "topic": "json value", "all": [[str(value[key])]]})
    elif r < 0.11:
        value = list(value)
        turns += [("user", asks.KEYS_ONLY.pick(rng, held_out)), ("model", answer(value))]
    elif r < 0.15:
        value = [value]
        turns += [("user", asks.AS_LIST.pick(rng, held_out)), ("model", answer(value))]
    return Case(turns, {"kind": "json", "value": value})


SHAPES = [(free, 28), (keyed, 22), (for_phrase, 8), (with_pairs, 10), (values_in_order, 6), (by_schema, 4), (array, 6),
          (rows, 4), (example, 2), (follow_up, 12)]
MAKERS = [maker for maker, _ in SHAPES]
WEIGHTS = list(itertools.accumulate(weight for _, weight in SHAPES))


def sample(rng, held_out):
    maker = rng.choices(MAKERS, cum_weights=WEIGHTS)[0]
    return with_system(rng, held_out, maker(rng, held_out))
