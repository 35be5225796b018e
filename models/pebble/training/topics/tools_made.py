"""Generated tools: a pattern (set something, get something, count, move ...) with a thing and an attribute, half
of them invented words, under names of many styles. The model must read in the declaration what a tool does; the
requests describe it, or call it by name."""

import functools
import re
from dataclasses import dataclass, field

from . import case, invent
from .tools_data import NOTES, Param

THINGS = """
    anvil badge barrel basket bead beam bell bench boiler bolt bottle bridge brick bucket cabin cable canvas carpet
    cart cask chest chimney coil column comet crane crate crystal cup curtain disc drum engine fan fence filter flask
    funnel furnace gate gear glider globe grid hammock hatch hive hook jar kettle kiln ladder lens lever loom magnet
    mast mill mirror nozzle oven panel pipe piston pole pump quarry rail reactor rod rope rotor sail satellite saw
    scale shaft shield shovel silo sled spindle spool spring statue stove tank tent tile torch tower trap tray tripod
    tube turbine valve vase vat wagon wall wheel winch window
""".split()
ATTRIBUTES = """
    age angle balance bias brightness capacity charge contrast cost curve delay density depth drift focus force
    frequency gain gloss grade grip heat height index length level limit load mass mode moisture noise offset order
    phase pitch power pressure price priority pulse quality quota radius range rank rate ratio score shade shape
    signal size speed spin stage strength stress style tension texture thickness threshold tilt tone torque value
    voltage volume weight width yield
""".split()
PLACES = "box drawer shed hall room tower cellar yard barn depot station sector zone lot vault shop lab bay".split()
VERBS = """
    align archive approve assemble bend boost break calibrate cancel coat cool cover crush cut damp drain dry empty
    fill fix flip fold freeze grease grind harden hide inspect inflate insulate launch level lift load lower mark
    measure melt mix mount oil open pack patch polish pull push raise recycle refill register release repair replace
    reset resize reverse rinse rotate sand scan seal sharpen shift shrink sign sort spin split squeeze stack stamp
    start stop stretch strip sweep test tilt tighten trim tune twist unload unpack upgrade verify wash weigh weld wind
    wipe wrap
""".split()
TOPICS = """
    batch block cell cycle draft entry event file frame graph index item job key layer line link list loop mask matrix
    node page path plan queue record route rule session shard slot stage stream task token tree unit view zone
""".split()


AN = re.compile(r"\b([Aa]) (?=[aeio]|u(?!ni))")


@dataclass
class Pattern:
    name: str
    verbs: list
    names: list       # Words of the name of the tool
    descriptions: list
    params: list      # (kind, names, descriptions, optional)
    asks: list
    missing: list = field(default_factory=list)
    answer: str = ""  # With {r} for the result; empty for an action


# {t} the thing, {a} the attribute, {v} the verb, {V} "Verbs"; {0}, {1} the values of the parameters.
PATTERNS = [
    Pattern("set", ["set", "change", "update", "adjust", "configure", "modify"], ["v a", "v t a", "v a t"],
            ["{V} the {a} of a {t}", "{V} the {a} of the given {t}", "Lets you {v} the {a} of a {t}"],
            [("thing", ["{t}", "name", "id", "{t} name", "target"], ["Name of the {t}", "The {t}", "Which {t}"], False),
             ("attr", ["{a}", "value", "new {a}", "to"], ["New {a}", "The {a}", "{a} to use"], False)],
            ["set the {a} of the {t} {0} to {1}", "{v} the {a} of {0} to {1}", "make the {a} of the {t} {0} {1}",
             "The {t} {0} needs the {a} {1}.",
             "I want {0} to have the {a} {1}.", "{0} should have a {a} of {1}.", "Put the {a} of {0} at {1}.",
             "The {a} of the {t} {0} should be {1}.",
             "{t} {0}: {a} {1}", "Change the {a} of the {t} {0}, it must be {1}.",
             "Could you {v} the {a} of {0} to {1}?", "Let the {t} {0} have {a} {1}.",
             "{a} of {0} to {1}", "Give the {t} {0} a {a} of {1}.", "for the {t} {0}, {v} the {a} to {1}",
             "I need the {a} {1} for {0}."],
            ["Set the {a} of the {t} {0}.", "{v} the {a} to {1}", "Change the {a} of {0}, please.",
             "I want another {a} for the {t} {0}."]),
    Pattern("get", ["get", "read", "fetch", "query", "check", "show", "lookup", "load"], ["v a", "v t a", "v a t"],
            ["Returns the {a} of a {t}", "{V} the {a} of a {t}", "Tells the {a} of the given {t}", "The {a} of a {t}"],
            [("thing", ["{t}", "name", "id", "{t} name", "of"], ["Name of the {t}", "The {t}", "Which {t}"], False)],
            ["What is the {a} of the {t} {0}?", "What {a} does {0} have?", "Tell me the {a} of {0}.", "{a} of {0}?",
             "How much {a} does the {t} {0} have?",
             "I need to know the {a} of {0}.", "Show the {a} of {0}.", "Check the {a} of the {t} {0}.",
             "Can you look up the {a} of {0}?", "{t} {0}: what is its {a}?",
             "Which {a} has the {t} {0}?", "Do you know the {a} of {0}?", "the {a} of {0} please",
             "Find out the {a} of the {t} {0}.", "What's {0}'s {a}?"],
            ["What is the {a}?", "Tell me the {a} of my {t}.", "Show me the {a}."], "The {a} of {0} is {r}."),
    Pattern("act", VERBS, ["v t", "v t", "t v", "v the t"], ["{V} a {t}", "{V} the given {t}", "Can {v} a {t}"],
            [("thing", ["{t}", "name", "id", "{t} name", "target"], ["Name of the {t}", "The {t}", "Which {t} to {v}"],
              False),
             ("attr", ["{a}", "{t} {a}"], ["The {a} to use", "With this {a}"], True)],
            ["{v} the {t} {0}", "Please {v} {0}.", "I want you to {v} the {t} {0}.", "Could you {v} {0}?",
             "{v} {0} now", "The {t} {0}: {v} it.",
             "Go and {v} the {t} {0}.", "It is time to {v} the {t} {0}.", "{v} the {t} {0} with the {a} {1}",
             "{v} {0}, {a} {1}", "Can you {v} the {t} {0} with {a} {1}?",
             "{v} {0} and use the {a} {1}", "We have to {v} {0}.", "{t} {0} - {v} please"],
            ["{v} the {t}", "Please {v} a {t}.", "{v} it with the {a} {1}"]),
    Pattern("create", ["create", "add", "make", "register", "build", "spawn", "insert"], ["v t"],
            ["{V} a {t}", "{V} a new {t}", "Makes a new {t}"],
            [("thing", ["name", "{t} name", "title", "{t}"], ["Name of the new {t}", "What it is called"], False),
             ("attr", ["{a}", "{t} {a}"], ["The {a} of it", "{a} of the new {t}"], False),
             ("labels", ["tags", "labels", "parts", "groups"], ["List of {k}", "The {k} of the {t}"], True)],
            ["create a {t} called {0} with the {a} {1}", "Add a new {t} named {0}, {a} {1}.",
             "I need a {t} {0} with {a} {1}.", "New {t}: {0}, {a} {1}", "Make a {t} with the name {0} and the {a} {1}.",
             "Please create the {t} {0} with {a} {1} and the {k2} {2}.", "{v} {t} {0} ({a} {1})",
             "Can you make a new {t}, name {0}, {a} {1}?", "We want another {t}: {0}. Its {a} is {1}.",
             "A new {t} {0} with {a} {1} and {k2} {2}"],
            ["Create a {t} called {0}.", "New {t} with the {a} {1}", "I need a new {t}."]),
    Pattern("find", ["find", "search", "list", "filter", "select"], ["v ts"],
            ["Finds {ts} by {a}", "Lists the {ts} that have a {a}", "All {ts} with a given {a}"],
            [("attr", ["{a}", "by {a}", "value"], ["The {a} to look for", "{a} of the {ts}"], False),
             ("count", ["limit", "max", "count", "top"], ["At most so many", "Number of results"], True)],
            ["Find all {ts} with the {a} {0}.", "Which {ts} have the {a} {0}?", "show me {ts} whose {a} is {0}",
             "{ts} with {a} {0}", "List {1} {ts} with the {a} {0}.", "Give me at most {1} {ts} with {a} {0}.",
             "Search the {ts} for the {a} {0}.", "Are there {ts} with the {a} {0}?",
             "I am looking for {ts} with a {a} of {0}."],
            ["Find some {ts}.", "List {1} {ts}.", "Search the {ts}."], "I found {r}."),
    Pattern("move", ["move", "carry", "transfer", "bring", "ship", "haul"], ["v t", "t v"],
            ["{V} a {t} from one place to another", "{V} a {t}"],
            [("thing", ["{t}", "name", "what"], ["Name of the {t}", "The {t}"], False),
             ("place", ["from", "source", "start", "origin"], ["Where it is", "Start"], False),
             ("place", ["to", "target", "destination", "goal"], ["Where it goes", "Destination"], False)],
            ["{v} the {t} {0} from {1} to {2}", "Take {0} from {1} to {2}.", "The {t} {0} must go from {1} to {2}.",
             "{0}: from {1} to {2}", "Get the {t} {0} out of {1} and over to {2}.", "Please {v} {0} from {1} to {2}.",
             "Could you {v} the {t} {0} to {2}? It is in {1}.", "from {1} to {2}: {t} {0}"],
            ["{v} the {t} {0} to {2}", "{v} the {t} from {1} to {2}", "Take {0} out of {1}."]),
    Pattern("count", ["count", "number", "tally"], ["v ts"], ["Counts the {ts} in a {p}", "Number of {ts} in a {p}",
                                                              "How many {ts} are in a {p}"],
            [("place", ["{p}", "name", "where", "location"], ["Name of the {p}", "The {p}"], False)],
            ["How many {ts} are in the {p} {0}?", "Count the {ts} in {0}.", "number of {ts} in {0}",
             "Tell me how many {ts} the {p} {0} has.", "How many {ts} does {0} hold?", "Count all {ts} of the {p} {0}.",
             "{ts} in {0}, how many?"],
            ["How many {ts} are there?", "Count the {ts}."], "There are {r} {ts} in {0}."),
    Pattern("switch", ["switch", "toggle", "turn", "flip"], ["v t", "t switch", "t power"],
            ["Switches the {t} on or off", "Turns the {t} on or off", "Power of the {t}"],
            [("state", ["state", "power", "status", "to"], ["New state", "on or off"], False)],
            ["Switch the {t} {0}.", "turn the {t} {0}", "{t} {0}", "Turn {0} the {t}.", "Please switch {0} the {t}.",
             "I want the {t} {0}.", "The {t} should be {0}.", "Could you turn the {t} {0}?", "{0} with the {t}!"],
            ["Switch the {t}.", "Change the state of the {t}."]),
    Pattern("enable", ["enable", "activate", "allow"], ["v t", "t mode", "set t"],
            ["Enables or disables the {t}", "Whether the {t} is active"],
            [("flag", ["enabled", "active", "value", "on"], ["true to enable, false to disable", "Active or not"],
              False)],
            ["{0:Enable|Disable} the {t}.", "{0:activate|deactivate} the {t}", "Please {0:enable|disable} the {t}.",
             "I want the {t} {0:enabled|disabled}.", "{t} {0:on|off}", "The {t} should be {0:active|inactive}.",
             "Could you {0:enable|disable} the {t}?"], []),
    Pattern("simple", ["stop", "start", "ping", "restart", "pause", "reset", "clear", "refresh", "sync", "open",
                       "close"], ["v t", "t v", "v the t"], ["{V} the {t}", "Can {v} the {t}", "{V} the {t} at once"],
            [],
            ["{v} the {t}", "Please {v} the {t}.", "Could you {v} the {t}?", "{v} {t}", "{v} the {t} now",
             "I want you to {v} the {t}.", "The {t}: {v} it please.", "Go and {v} the {t}.", "Time to {v} the {t}."]),
    Pattern("run", ["run", "heat", "operate", "use", "drive"], ["v t", "t run", "t timer"],
            ["Runs the {t} for some minutes", "Lets the {t} work for a while"],
            [("count", ["minutes", "duration", "time", "min"], ["Minutes", "How long, in minutes"], False),
             ("attr", ["{a}"], ["The {a}", "{a} while it runs"], True)],
            ["Run the {t} for {0} minutes.", "{t} for {0} minutes", "Let the {t} run {0} minutes.",
             "Please use the {t} for {0} minutes.", "The {t} should run for {0} minutes with the {a} {1}.",
             "{0} minutes of {t} with {a} {1}", "Start the {t}, {0} minutes long.",
             "Operate the {t} at {a} {1} for {0} minutes."], ["Run the {t}.", "Let the {t} run with the {a} {1}."]),
    Pattern("compare", ["compare", "match", "diff"], ["v ts"], ["Compares two {ts}", "Compares two {ts} by {a}"],
            [("thing", ["first", "left", "one", "old"], ["First {t}", "One {t}"], False),
             ("thing", ["second", "right", "other", "new"], ["Second {t}", "Other {t}"], False)],
            ["compare {0} and {1}", "Compare the {ts} {0} and {1}.", "Which {t} is better, {0} or {1}?",
             "What is the difference between the {ts} {0} and {1}?", "{0} against {1}",
             "Please compare the {t} {0} with {1}.", "{t} {0} or {1}?"],
            ["Compare {0} with another {t}.", "Compare two {ts}."], "The result is {r}."),
    Pattern("compute", ["compute", "calculate", "estimate", "predict"], ["v a", "v t a"],
            ["{V} the {a} from two numbers", "{V} the {a} of a {t} from {k0} and {k1}"],
            [("number", ["x", "width", "base", "first", "mass", "input"], ["First number", "The {k}"], False),
             ("number", ["y", "height", "rate", "second", "time", "factor"], ["Second number", "The {k}"], False)],
            ["What is the {a} for {k0} {0} and {k1} {1}?", "Calculate the {a} with {k0}={0} and {k1}={1}.",
             "{a} for {k0} {0}, {k1} {1}", "{v} the {a}: {k0} {0}, {k1} {1}",
             "Please {v} the {a} when {k0} is {0} and {k1} is {1}.", "I need the {a}. {k0} is {0}, {k1} is {1}.",
             "How big is the {a} with a {k0} of {0} and a {k1} of {1}?"],
            ["Calculate the {a} for {k0} {0}.", "What is the {a}?"], "The {a} is {r}."),
    Pattern("send", ["send", "post", "mail", "deliver"], ["v t"], ["{V} a {t} to a person", "{V} a {t} with a text"],
            [("person", ["to", "person", "recipient", "user"], ["Who gets it", "Name of the person"], False),
             ("note", ["text", "content", "message", "body"], ["What it says", "The text"], False)],
            ["Send {0} a {t}: {1}", "{v} a {t} to {0} that says: {1}", "{t} for {0}: {1}",
             "Send a {t} to {0} with the text \"{1}\".", "{0} gets a {t}: {1}", "Please {v} {0} the {t} \"{1}\".",
             "A {t} to {0} please: {1}"],
            ["Send a {t} to {0}.", "Send a {t}: {1}"]),
    Pattern("label", ["label", "tag", "mark"], ["v t", "t labels"], ["Adds labels to a {t}", "Puts labels on a {t}"],
            [("thing", ["{t}", "name", "id"], ["Name of the {t}", "The {t}"], False),
             ("labels", ["labels", "tags", "words"], ["The {k}", "List of {k}"], False)],
            ["Add the labels {1} to the {t} {0}.", "label {0} with {1}", "Put {1} on {0} as labels.",
             "The {t} {0} gets the labels {1}.", "{v} the {t} {0}: {1}", "Mark {0} as {1}.", "labels for {0}: {1}"],
            ["Put labels on the {t} {0}.", "Add the labels {1}."]),
    Pattern("opaque", VERBS + ["do", "fx", "run", "apply", "handle", "process", "invoke"],
            ["v t", "v t", "t v", "t", "v a", "v t a"], ["{V} the {t} {a}", "Runs the {t}", "Does the {a} of the {t}",
                                                         "{V} a {t} with some options", "Internal: {t}"],
            [], []),
]
BY_NAME = {pattern.name: pattern for pattern in PATTERNS}
# The patterns whose tools may share a thing, because their requests differ.
SIBLINGS = ["set", "get", "act", "set", "get", "act", "create"]
WEIGHTED = [p.name for p in PATTERNS] + ["set", "get", "act", "create", "set", "get", "act", "opaque", "opaque",
                                         "opaque", "move", "compute"]
OPTIONS = ["id", "name", "size", "mode", "depth", "width", "count", "limit", "path", "target", "source", "format",
           "level", "speed", "label", "color", "dry run", "force", "verbose",
           "retries", "timeout", "owner", "region", "version", "page", "sort by", "max items", "min size", "start at",
           "file name", "user id", "rate", "weight", "shape", "prefix", "note"]
STYLES = ["snake", "snake", "snake", "snake", "camel", "camel", "pascal", "dotted", "kebab", "upper"]
PREFIXES = ["api", "my", "app", "srv", "x", "v2", "core", "lab", "hub", "sys"]


@dataclass
class Made:
    """Like tools_data.Tool, with the words of its requests."""
    name: str
    group: str
    description: str
    params: list
    asks: list
    missing: list
    words: dict
    pattern: str
    answer: str = ""
    result: object = None


def styled(style, words):
    if style == "camel":
        return words[0] + "".join(word.capitalize() for word in words[1:])
    if style == "pascal":
        return "".join(word.capitalize() for word in words)
    return {"snake": "_", "dotted": ".", "kebab": "-", "upper": "_"}[style].join(words)


def plural(word):
    if word.endswith(("s", "sh", "ch", "x", "z")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def third(verb):
    return "Does" if verb == "do" else plural(verb).capitalize()


def name_of_thing(rng, held_out):
    r = rng.random()
    if r < 0.45:
        return invent.capital(rng, held_out)
    if r < 0.6:
        return invent.code(rng, held_out)
    if r < 0.7:
        return invent.title(rng, held_out)
    if r < 0.85:
        return invent.word(rng, held_out)
    return invent.first_name(rng, held_out)


def place(rng, held_out):
    return invent.city(rng, held_out) if rng.random() < 0.3 else name_of_thing(rng, held_out)


INTEGERS = [invent.integer(0, 12), invent.integer(1, 100), invent.integer(13, 5000), invent.integer(-60, 60)]
NUMBERS = [invent.decimal(0, 20), invent.decimal(1, 200), invent.decimal(0, 10, 2)]
STRINGS = [invent.word, invent.colour, invent.capital, invent.code, invent.tag, invent.thing, invent.word]
COUNT = invent.integer(1, 60)
LABELS = invent.several(invent.tag, 2, 3)


def value_kind(rng, held_out):
    """(type, draw, enum) of an attribute."""
    r = rng.random()
    if r < 0.35:
        return "integer", rng.choice(INTEGERS), ()
    if r < 0.55:
        return "number", rng.choice(NUMBERS), ()
    if r < 0.8:
        return "string", rng.choice(STRINGS), ()
    options = []
    while len(options) < rng.randint(2, 4):
        option = invent.tag(rng, held_out)
        if option not in options:
            options.append(option)
    return "string", invent.either(*options), tuple(options)


def parameter(rng, held_out, kind, name, description, optional):
    enum = ()
    if kind == "thing":
        type_, draw = "string", name_of_thing
    elif kind == "place":
        type_, draw = "string", place
    elif kind == "person":
        type_, draw = "string", invent.first_name
    elif kind == "note":
        type_, draw = "string", NOTES
    elif kind == "labels":
        type_, draw = "array", LABELS
    elif kind == "state":
        enum = ("on", "off")
        type_, draw = "string", invent.either(*enum)
    elif kind == "flag":
        type_, draw = "boolean", invent.boolean
    elif kind == "count":
        type_, draw = "integer", COUNT
    elif kind == "number":
        type_, draw = "number", rng.choice(NUMBERS + INTEGERS[:2])
    else:
        type_, draw, enum = value_kind(rng, held_out)
    return Param(name, type_, description, draw, not optional, enum)


def options_of(rng, held_out, style):
    """Parameters that fit no pattern."""
    params, taken = [], set()
    for _ in range(rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4))):
        r = rng.random()
        name = rng.choice(OPTIONS) if r < 0.5 else rng.choice(ATTRIBUTES) if r < 0.65 else invent.word(rng, held_out)
        if name in taken:
            continue
        taken.add(name)
        kind = rng.choice(("attr", "attr", "attr", "flag", "labels", "thing", "count"))
        optional = bool(params) and rng.random() < 0.3
        params.append(parameter(rng, held_out, kind, styled(style, name.split()), f"The {name}", optional))
    return params


def thing(rng, held_out):
    r = rng.random()
    return rng.choice(THINGS) if r < 0.45 else rng.choice(TOPICS) if r < 0.5 else invent.word(rng, held_out)


def attribute(rng, held_out):
    return rng.choice(ATTRIBUTES) if rng.random() < 0.6 else invent.word(rng, held_out)


def make(rng, held_out, style=None, sibling=None):
    """A tool that belongs to the world by its name; with `sibling`, one for the same thing or attribute."""
    style = style or rng.choice(STYLES)
    words = words_of(rng, held_out, sibling)
    while True:
        pattern, name = named(rng, held_out, style, sibling, words)
        if case.held("tool:" + name) == bool(held_out):
            break
        if rng.random() < 0.1:
            words = words_of(rng, held_out, sibling)
    keys = style if style == "camel" else "snake"
    params = options_of(rng, held_out, keys) if pattern.name == "opaque" else params_of(rng, held_out, keys, pattern,
        words)
    mark = words["a"] if pattern.name in ("set", "get") else words["v"] if pattern.name in ("act", "simple") else ""
    group = {"send": "comm", "compute": "calc"}.get(pattern.name, f"made {pattern.name} {mark}")
    description = AN.sub(r"\1n ", rng.choice(pattern.descriptions).format(**words))
    return Made(name, group, description, params, usable(pattern.asks, len(params), held_out),
                usable(pattern.missing, len(params), held_out), words, pattern.name, pattern.answer,
                result_of(pattern.name, rng, held_out))


def words_of(rng, held_out, sibling):
    """The subject of the tool."""
    name = sibling.words["t"] if sibling else thing(rng, held_out)
    return {"t": name, "ts": plural(name), "a": attribute(rng, held_out), "p": rng.choice(PLACES)}


def named(rng, held_out, style, sibling, words):
    """(pattern, name): what the tool does."""
    pattern = BY_NAME[rng.choice(SIBLINGS if sibling else WEIGHTED)]
    words["v"] = rng.choice(pattern.verbs)
    words["V"] = third(words["v"])
    if sibling and pattern.name != sibling.pattern and {pattern.name, sibling.pattern} <= {"set", "get"}:
        words["a"] = sibling.words["a"]
    parts = [words.get(part, part) for part in rng.choice(pattern.names).split()]
    r = rng.random()
    if r < 0.1:
        parts.insert(0, rng.choice(PREFIXES))
    elif r < 0.2:
        # A name without meaning: only the description says what the tool does.
        parts = [invent.word(rng, held_out)] + ([str(rng.randint(1, 99))] if rng.random() < 0.5 else [])
    name = styled(style, parts)
    return pattern, name.upper() if style == "upper" else name


def params_of(rng, held_out, style, pattern, words):
    """The parameters of a pattern, no two of one name. Their names go into the words as k0, k1, ..."""
    params = []
    for i, (kind, names, descriptions, optional) in enumerate(pattern.params):
        if optional and rng.random() < 0.5:
            continue
        taken = [param.name for param in params]
        choices = [name for name in (styled(style,
                                            name.format(**words).split()) for name in names) if name not in taken]
        name = rng.choice(choices or [words["t"] + "_" + words["a"]])
        words["k"] = words[f"k{i}"] = readable(name)
        description = AN.sub(r"\1n ", rng.choice(descriptions).format(**words))
        params.append(parameter(rng, held_out, kind, name, description, optional))
    return params


def readable(name):
    """orderId and order_id are the order id."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").replace("-", " ").lower()


@functools.lru_cache(None)
def split(requests, count, held_out):
    found = [text for text in requests if not any(f"{{{i}" in text or f"{{k{i}}}" in text for i in range(count, 4))]
    return case.split(found, held_out == case.ALL_OTHER) or found


def usable(requests, count, held_out):
    """The requests of the world that mention only the parameters that were drawn."""
    return split(tuple(requests), count, held_out)


def result_of(pattern, rng, held_out):
    """A generator of what the tool returns, or None for an action."""
    if pattern == "get":
        return value_kind(rng, held_out)[1]
    if pattern == "find":
        return invent.several(name_of_thing, 2, 3)
    if pattern == "count":
        return INTEGERS[1]
    if pattern == "compute":
        return NUMBERS[1]
    if pattern == "compare":
        return name_of_thing
    return None
