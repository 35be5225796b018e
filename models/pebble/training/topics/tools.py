"""Tool calls: the system message declares tools; the model answers with a call, asks for missing arguments, or
says that no tool fits; and it reports the result of a tool in a sentence."""

import itertools
import json
import re

from . import case, invent, tools_alias
from . import tools_made as made
from .tools_list import TOOLS
from .tools_made import readable

Case = case.Case

HEAD = "You can call these tools:"
TAIL = 'To call a tool, answer with\n<tool_call>\n{"name": NAME, "arguments": {...}}\n</tool_call>'
SPACE = 1450  # Characters of all declarations

ASKS = {tool.name: case.Table(tool.asks) for tool in TOOLS}
BROAD = {"search"}  # Groups that fit nearly every question are never beside another tool's request.
SLOT = re.compile(r"\{(\w+)(?::([^|}]*)\|([^}]*))?\}")
SLOTS_OF = {}


def slots_of(text):
    """The names in the slots of a request."""
    found = SLOTS_OF.get(text)
    if found is None:
        found = SLOTS_OF[text] = {match[0] for match in SLOT.findall(text)}
    return found


# -- Declarations. ---------------------------------------------------------------------------------

def member(param, described=True):
    out = {"type": param.type}
    if param.type == "array":
        out["items"] = {"type": "string"}
    if param.enum:
        out["enum"] = list(param.enum)
    if described:
        out["description"] = param.description
    return out


def function(tool, described=True):
    parameters = {"type": "object", "properties": {param.name: member(param, described) for param in tool.params}}
    required = [param.name for param in tool.params if param.required]
    if required:
        parameters["required"] = required
    out = {"name": tool.name}
    if described or getattr(tool, "pattern", "") == "opaque":
        out["description"] = tool.description
    out["parameters"] = parameters
    return out


def shuffled(rng, value):
    items = list(value.items())
    rng.shuffle(items)
    return dict(items)


HEADS = ["Tools:", "Available tools:", "You have these tools:", "You can use these functions:", "Functions:", "# Tools",
         "The following tools are available:", "tools", "You have access to tools:"]
TAILS = ["", "", "Call a tool with <tool_call>{\"name\": ..., \"arguments\": {...}}</tool_call>.",
         "Use <tool_call> to call one.", TAIL]


def declaration(rng, tools):
    """The text that declares the tools: mostly that of the chat template, sometimes that of other programs."""
    if rng.random() < 0.8:
        lines = [json.dumps({"type": "function", "function": function(tool)}) for tool in tools]
        return "\n".join([HEAD] + lines + [TAIL])
    plain = all(getattr(tool, "pattern", "") == "" for tool in tools)
    functions = [function(tool, not plain or rng.random() < 0.7) for tool in tools]
    if rng.random() < 0.3:
        for out in functions:
            out["parameters"]["additionalProperties"] = False
    if rng.random() < 0.25:
        for out in functions:
            out["strict"] = True
    if rng.random() < 0.3:
        functions = [shuffled(rng, out) for out in functions]
    if rng.random() < 0.5:
        functions = [{"type": "function", "function": out} for out in functions]
    separators = (",", ":") if rng.random() < 0.35 else None
    texts = [json.dumps(out, separators=separators) for out in functions]
    r = rng.random()
    if r < 0.3:
        body = json.dumps(functions, separators=separators)
    elif r < 0.45 and sum(map(len, texts)) < 500:
        body = "\n".join(json.dumps(out, indent=2) for out in functions)
    else:
        body = "\n".join(texts)
    head = HEAD if rng.random() < 0.3 else rng.choice(HEADS)
    tail = TAIL if rng.random() < 0.3 else rng.choice(TAILS)
    return f"{head}\n{body}" + (f"\n{tail}" if tail else "")


def system_of(rng, held_out, tools):
    text = declaration(rng, tools)
    front = case.system(rng, held_out)
    return f"{front}\n\n{text}" if front else text


# -- Which tools. ----------------------------------------------------------------------------------

def is_made(tool):
    return isinstance(tool, made.Made)


def clash(one, other):
    """Whether a request for one could mean the other."""
    if one.group == other.group or one.name == other.name:
        return True
    if is_made(one) and is_made(other):
        return one.words["t"] == other.words["t"] and not {one.pattern, other.pattern} <= set(made.SIBLINGS)
    return False


def target_of(rng, held_out):
    return rng.choice(TOOLS) if rng.random() < 0.5 else made.make(rng, held_out)


def beside(rng, held_out, target, count):
    """Up to `count` tools that do not fit the target's request."""
    out = []
    style = rng.choice(made.STYLES)
    space = SPACE - len(json.dumps(function(target)))
    for _ in range(count * 3):
        if len(out) == count:
            break
        if is_made(target) and target.pattern in made.SIBLINGS and rng.random() < 0.35:
            tool = made.make(rng, held_out, style, target)
        elif rng.random() < (0.25 if is_made(target) else 0.7):
            tool = rng.choice(TOOLS)
        else:
            tool = made.make(rng, held_out, style)
        size = len(json.dumps(function(tool))) + 35
        if size > space or tool.group in BROAD or any(clash(tool, other) for other in out + [target]):
            continue
        space -= size
        out.append(tool)
    return out


COUNTS = (1, 1, 2, 2, 2, 3, 3, 4, 5)


def toolbox(rng, held_out, *targets):
    """The targets and other tools, in any order."""
    count = max(rng.choice(COUNTS), len(targets))
    out = list(targets)
    for tool in beside(rng, held_out, targets[0], count - len(targets)):
        if not any(clash(tool, other) for other in targets):
            out.append(tool)
    rng.shuffle(out)
    return out


# -- Requests. -------------------------------------------------------------------------------------

def said(rng, value, numbers=True):
    if isinstance(value, list):
        return invent.listed([str(item) for item in value])
    if numbers and type(value) is int and 1 < value <= invent.SMALL and rng.random() < 0.08:
        return invent.NUMBER_WORDS[value]
    return str(value)


def values_of(rng, held_out, tool, keep=None):
    """A value for every parameter, all different; keep(param) chooses which."""
    values = {}
    for param in tool.params:
        if keep and not keep(param):
            continue
        value = param.draw(rng, held_out)
        for _ in range(20):
            if value not in values.values() or isinstance(value, bool):
                break
            value = param.draw(rng, held_out)
        values[param.name] = value
    return values


def in_words(rng, held_out, tool, template):
    """(message, arguments) for one of the tool's requests."""
    wanted = slots_of(template)
    names = {str(i) if is_made(tool) else param.name: param for i, param in enumerate(tool.params)}
    given = {param.name for slot, param in names.items() if slot in wanted}
    values = values_of(rng, held_out, tool, lambda param: param.name in given)
    words = tool.words if is_made(tool) else {}

    def put(match):
        slot, yes, no = match.groups()
        if slot in names:
            value = values[names[slot].name]
            return (yes if value else no) if yes is not None else said(rng, value)
        return words[slot]

    text = case.wrap(rng, case.casual(rng, template)) if rng.random() < 0.75 else template
    text = SLOT.sub(put, text)
    if is_made(tool) and text[:1].islower() and rng.random() < 0.4 and not template.startswith("{0"):
        text = text[0].upper() + text[1:]
    return text, values


CALLS = case.Table([f"{a}{b}" for a, b in itertools.product(
    ["call {n}", "Call {n}", "use {n}", "Use the tool {n}", "Please use tool {n}", "Please call {n}", "run {n}",
     "Run {n}", "execute {n}", "Can you call {n}", "I want you to use {n}",
     "Call the tool {n}", "call the function {n}", "Please run the tool {n}", "invoke {n}", "Try {n}", "Now {n}",
     "Could you run {n}", "tool {n}", "{n}"],
    [" with {p}", " with {p}.", ": {p}", " {p}", " and set {p}", ", {p}", " using {p}", " ({p})"])]
    + ["{n}({p})", "{n}({p})", "run {n}({p})", "call {n}({p})", "{p}: {n}"])
CALLS_BARE = case.Table(["call {n}", "Call {n}.", "run {n}", "Run {n} please", "use {n}", "Use the tool {n}.",
                         "Please call {n}.", "execute {n}", "{n}", "{n}()", "invoke {n}", "Can you run {n}?",
                         "I want you to call {n}.", "start {n}", "try the tool {n}", "Could you use {n}?"])
CALLS_ONE = case.Table([f"{a} {b}" for a, b in itertools.product(
    ["call {n}", "Call {n}", "use {n}", "Please use the tool {n}", "run {n}", "Run the tool {n}", "execute {n}", "{n}",
     "Please call {n}", "Can you run {n}"],
    ["for {p}", "on {p}", "with {p}", "{p}"])])
PAIRS = [("{k}={v}", ", "), ("{k}={v}", " "), ("{k}={v}", " and "), ("{k} {v}", ", "), ("{k} {v}", " and "),
         ("{k}: {v}", ", "), ("{k} = {v}", ", "), ("the {k} {v}", " and "), ("{k} set to {v}", ", ")]


def literal(rng, value, quotes):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(f'"{item}"' if quotes else str(item) for item in value) + "]"
    return f'"{value}"' if quotes and isinstance(value, str) else str(value)


def by_name(rng, held_out, tool):
    """(message, arguments) where the user names the tool and its parameters."""
    values = values_of(rng, held_out, tool, lambda param: param.required or rng.random() < 0.5)
    if not values:
        return CALLS_BARE.pick(rng, held_out).replace("{n}", tool.name), values
    only = list(values.values())[0]
    if len(tool.params) == 1 and isinstance(only, (str, int, float)) and rng.random() < 0.5:
        text = CALLS_ONE.pick(rng, held_out).replace("{n}", tool.name)
        return text.replace("{p}", literal(rng, only, rng.random() < 0.2)), values
    form, join = rng.choice(PAIRS)
    quotes = rng.random() < 0.3 or join == " "
    parts = [form.replace("{k}", key).replace("{v}", literal(rng, value, quotes)) for key, value in values.items()]
    if rng.random() < 0.15:
        rng.shuffle(parts)
    pairs = invent.listed(parts) if join == " and " else join.join(parts)
    return CALLS.pick(rng, held_out).replace("{n}", tool.name).replace("{p}", pairs), values


def request(rng, held_out, tool):
    if not tool.asks or rng.random() < (0.2 if is_made(tool) else 0.04):
        return by_name(rng, held_out, tool)
    # The requests of a generated tool belong to this world already; those of a written tool must be chosen.
    ask = rng.choice(tool.asks) if is_made(tool) else ASKS[tool.name].pick(rng, held_out)
    return in_words(rng, held_out, tool, ask)


def call(tool, values):
    return "<tool_call>\n" + json.dumps({"name": tool.name, "arguments": values}) + "\n</tool_call>"


def called(tool, values):
    return {"kind": "tool", "name": tool.name, "arguments": values}


# -- Answers in words. -----------------------------------------------------------------------------

NONE_FITS = ["None of my tools can do that.", "I have no tool for that.", "Sorry, no tool of mine fits that.",
             "I cannot do that: none of my tools fits."]
ERRORS = ["not found", "no access", "timeout", "not available", "unknown id", "no connection", "permission denied",
          "bad value", "out of range", "server error", "too many requests", "already exists"]


def none_fits(rng):
    return rng.choice(NONE_FITS)


PARTICLES = {"to", "from", "of", "on", "what", "where", "by", "from", "one", "other", "old", "new"}


def ask_for(params):
    """Please tell me the city."""
    names = [readable(param.name) for param in params]
    names = [("the value of " if name in PARTICLES else "the ") + name for name in names]
    return f"Please tell me {invent.listed(names)}."


def as_text(value):
    if isinstance(value, dict):
        return ", ".join(f"{readable(key)} {as_text(item)}" for key, item in value.items())
    if isinstance(value, list):
        if value and isinstance(value[0], dict):
            return "; ".join(as_text(item) for item in value)
        return invent.listed([as_text(item) for item in value])
    return invent.text_of(value)


def leaves(value):
    """The texts that an answer must contain."""
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [as_text(value)]


def told(value):
    """The sentence for a result of an unknown tool."""
    if isinstance(value, dict):
        if len(value) <= 2:
            text = invent.listed([f"the {readable(key)} is {as_text(item)}" for key, item in value.items()])
            return text[0].upper() + text[1:] + "."
        return f"The result: {as_text(value)}."
    if isinstance(value, list):
        return f"The result: {as_text(value)}." if value else "The result is empty."
    return f"The result is {as_text(value)}."


DONE = ["ok", "done", "success", "OK", "finished", True, {"status": "ok"}, {"success": True}, {"ok": True},
        {"status": "success"}, {"status": "done"}, {"result": "ok"}, {"done": True}, None]
VALUES = [invent.integer(0, 12), invent.integer(13, 900), invent.decimal(0, 90), invent.word, invent.capital,
          invent.code, invent.colour, invent.title, invent.date, invent.time, invent.full_name, invent.boolean]
KEYS = made.ATTRIBUTES + ["id", "name", "status", "total", "count", "city", "date", "color", "owner", "time", "unit",
                          "place", "title", "order_id", "batteryLevel", "max_speed"]


def any_value(rng, held_out):
    return rng.choice(VALUES)(rng, held_out)


def any_result(rng, held_out):
    r = rng.random()
    if r < 0.55:
        count = rng.randint(1, 4)
        keys = [rng.choice(KEYS) if rng.random() < 0.75 else invent.word(rng, held_out) for _ in range(count)]
        return {key: any_value(rng, held_out) for key in keys}
    if r < 0.75:
        return any_value(rng, held_out)
    if r < 0.95:
        return invent.several(rng.choice(VALUES[:-1]), 2, 4)(rng, held_out)
    if r < 0.97:
        return []
    keys = rng.sample(KEYS, 2)
    return [{key: rng.choice(VALUES[:-1])(rng, held_out) for key in keys} for _ in range(2)]


def outcome(rng, held_out, tool, values):
    """(result, sentence, texts that must be in it) of a call."""
    if rng.random() < 0.08:
        error = rng.choice(ERRORS) if rng.random() < 0.6 else f"{invent.word(rng, held_out)} {rng.choice(ERRORS)}"
        result = {"error": error} if rng.random() < 0.7 else f"Error: {error}"
        return result, f"That did not work: {error}.", [error]
    if rng.random() < 0.15:
        result = any_result(rng, held_out)
        return result, told(result), leaves(result) or ["empty"]
    if tool.result is None:
        if rng.random() < 0.25:
            key = rng.choice(("id", "number", "code", "ticket", "reference"))
            value = invent.code(rng, held_out)
            return {"status": "ok", key: value}, f"Done. The {key} is {value}.", ["done", value]
        return rng.choice(DONE), rng.choice(("Done.", "It is done.")), ["done"]
    if is_made(tool):
        value = tool.result(rng, held_out)
        slots = {str(i): as_text(values[param.name]) for i, param in enumerate(tool.params) if param.name in values}
        slots.update(tool.words, r=as_text(value))
        result = value if rng.random() < 0.4 else {rng.choice((tool.words["a"], "result", "value")): value}
        return result, SLOT.sub(lambda match: slots[match.group(1)], tool.answer), leaves(value)
    result = {key: draw(rng, held_out) for key, draw in tool.result.items()}
    slots = {key: as_text(value) for key, value in {**values, **result}.items()}
    return result, SLOT.sub(lambda match: slots[match.group(1)], tool.answer), leaves(result)


def response(rng, result):
    text = result if isinstance(result, str) and rng.random() < 0.6 else json.dumps(result)
    return f"<tool_response>\n{text}\n</tool_response>"


# -- Kinds of conversations. -----------------------------------------------------------------------

def facts(texts, topic="tool result"):
    return {"kind": "facts", "topic": topic, "all": [[text] for text in texts]}


def single(rng, held_out):
    tool = target_of(rng, held_out)
    text, values = request(rng, held_out, tool)
    return toolbox(rng, held_out, tool), [("user", text), ("model", call(tool, values))], called(tool, values)


ELSE = case.Table(["Write me a poem about the sea.", "Order a pizza.", "Knit me a sweater.", "Sing a song for me.",
                   "Paint my house.", "Drive me home.", "Cut my hair.", "Can you iron my shirt?",
                   "Please wash the dishes.", "Catch a fish.", "Build me a boat.", "Tell me what I am thinking.",
                   "Bake a cake for my sister.", "Carry my bag upstairs.", "Fix my bike.", "Clean my glasses.",
                   "Open a bottle of wine.", "Make me rich.", "Take the dog for a walk.", "Mow the lawn.",
                   "Sew a button on my coat.", "Learn to swim.", "Fly to the moon.", "Give me a haircut."])


def unfit(rng, held_out):
    """The request needs a tool that is not declared."""
    tool = target_of(rng, held_out)
    if rng.random() < 0.15:
        text = case.casual(rng, ELSE.pick(rng, held_out))
    elif rng.random() < 0.3 and tool.missing:
        text = in_words(rng, held_out, tool, rng.choice(tool.missing))[0]
    else:
        text = request(rng, held_out, tool)[0]
    tools = [other for other in beside(rng, held_out, tool, rng.choice((1, 2, 3, 4))) if other.group not in BROAD]
    if not tools:
        return single(rng, held_out)
    return tools, [("user", text), ("model", none_fits(rng))], {"kind": "no_tool"}


SMALL_TALK = [
    (["Hello", "Hi", "Hey", "hello", "hi", "hey there", "Good morning!", "Hello there!", "hi!", "Good evening", "Hallo",
      "Hey!", "hello?", "Greetings", "yo", "Hi pebble", "Good day!"],
     ["hello"], ["Hello! How can I help you?", "Hello! What can I do for you?"]),
    (["Thanks!", "Thank you!", "thanks", "thx", "thank you very much", "Great, thanks!", "many thanks", "ok thanks",
      "Perfect, thank you.", "Thanks a lot", "cheers", "nice, thank you"],
     ["welcome"], ["You are welcome!", "You are welcome! Is there anything else?"]),
    (["How are you?", "how are you", "How are you doing today?", "how is it going?", "Are you well?",
      "How do you feel?", "how are things"],
     ["fine"], ["I am fine, thank you! How can I help you?"]),
    (["Bye!", "bye", "Goodbye", "See you later.", "good night", "That is all, bye.", "Ciao", "see you",
      "Have a nice day!"], ["goodbye"], ["Goodbye!", "Goodbye! Have a nice day."]),
    (["Who are you?", "who are you", "What is your name?", "what's your name", "Tell me who you are.",
      "Are you a person?", "what are you"],
     ["pebble"], ["I am pebble, a very small language model."]),
]
SMALL_TALK = [(case.Table(asks), words, answers) for asks, words, answers in SMALL_TALK]
LIST_TOOLS = case.Table(["Which tools do you have?", "What tools can you use?", "list your tools", "What can you do?",
                         "Which functions do you have?", "tools?", "Show me your tools.", "what tools are there",
                         "Name your tools.", "Do you have tools?", "tools please", "Tell me your tools."])


def small_talk(rng, held_out):
    tools = toolbox(rng, held_out, target_of(rng, held_out))
    if rng.random() < 0.2:
        names = [tool.name for tool in tools]
        answer = f"I have the tool {names[0]}." if len(names) == 1 else f"I have the tools {invent.listed(names)}."
        turns = [("user", case.casual(rng, LIST_TOOLS.pick(rng, held_out))), ("model", answer)]
        return tools, turns, facts(names, "tools")
    asks, words, answers = rng.choice(SMALL_TALK)
    turns = [("user", case.casual(rng, asks.pick(rng, held_out))), ("model", rng.choice(answers))]
    return tools, turns, facts(words, "small talk")


def missing(rng, held_out):
    """A required argument is missing: the model asks for it, and sometimes gets it."""
    tool = target_of(rng, held_out)
    required = [param for param in tool.params if param.required]
    while not (tool.missing or (is_made(tool) and required and tool.pattern == "opaque")):
        tool = target_of(rng, held_out)
        required = [param for param in tool.params if param.required]
    if tool.missing:
        text, values = in_words(rng, held_out, tool, rng.choice(tool.missing))
    else:
        text, values = CALLS_BARE.pick(rng, held_out).replace("{n}", tool.name), {}
    absent = [param for param in required if param.name not in values]
    turns = [("user", text), ("model", ask_for(absent))]
    tools = toolbox(rng, held_out, tool)
    if not absent:
        return tools, [("user", text), ("model", call(tool, values))], called(tool, values)
    if rng.random() < 0.6:
        return tools, turns, {"kind": "ask", "word": readable(absent[0].name)}
    added = values_of(rng, held_out, tool, lambda param: param in absent)
    reply = reply_with(rng, absent, added)
    added.update(values)
    values = {param.name: added[param.name] for param in tool.params if param.name in added}
    turns += [("user", reply), ("model", call(tool, values))]
    return tools, turns, called(tool, values)


REPLIES = ["{}", "{}", "{}", "{}, please", "Oh, {}", "It is {}", "{}.", "sorry, {}", "Take {}"]


def reply_with(rng, absent, values):
    """What the user says when asked for parameters."""
    if len(absent) > 1:
        parts = [f"{readable(param.name)} {literal(rng, values[param.name], False)}" for param in absent]
        return rng.choice((", ", " and ")).join(parts)
    name, value = absent[0].name, values[absent[0].name]
    text = literal(rng, value, False) if isinstance(value, bool) else said(rng, value)
    return f"the {readable(name)} is {text}" if rng.random() < 0.1 else rng.choice(REPLIES).format(text)


def two(rng, held_out):
    """Two requests in one message: two calls."""
    first = target_of(rng, held_out)
    text, values = request(rng, held_out, first)
    if rng.random() < 0.5 and first.params and (not is_made(first) or first.pattern == "get"):
        # The same tool twice, for two values of one parameter: the weather in Paris and in Rome.
        template = rng.choice(first.asks)
        text, values = in_words(rng, held_out, first, template)
        strings = [param for param in first.params if doubles(param, values.get(param.name), text)]
        if strings:
            param = rng.choice(strings)
            other = param.draw(rng, held_out)
            if other != values[param.name] and " and " not in values[param.name] + other:
                both = {**values, param.name: other}
                text = text.replace(values[param.name], f"{values[param.name]} and {other}")
                return join_calls(rng, held_out, toolbox(rng, held_out, first), text, [(first, values), (first, both)])
    second = target_of(rng, held_out)
    for _ in range(5):
        if not clash(first, second) and not {first.group, second.group} & BROAD:
            break
        second = target_of(rng, held_out)
    else:
        return single(rng, held_out)
    if len(json.dumps([function(first), function(second)])) > SPACE:
        return single(rng, held_out)
    more, others = request(rng, held_out, second)
    text = after(rng, text, values, more, others)
    return join_calls(rng, held_out, toolbox(rng, held_out, first, second), text, [(first, values), (second, others)])


def after(rng, text, values, more, others):
    """Two requests in one message. A text at the end of the first must not run into the second."""
    loose = any(isinstance(value, list) or " " in str(value) for value in values.values())
    join = rng.choice((". ", ". Also, ", "\n", "! ", ". Then ") if loose else
                      (" and ", ", and ", ". ", ". Then ", ". Also, ", " and then ", "; ", "\n"))
    word = more.split(" ")[0]
    if not join.endswith((". ", "\n", "! ")) and word[1:].islower() and word != "I" and \
            not any(str(value).startswith(word.rstrip(",.:")) for value in others.values()):
        more = more[0].lower() + more[1:]
    if text[-1] in "?!" and join[0] in ".!":
        join = join[1:]
    return (text.rstrip(".") if join[0] in ".,;! " else text) + join + more


# Parameters whose value is a sentence: "and" after it would become part of it.
TEXTS = {"text", "content", "message", "task", "body", "title", "question", "subject", "prompt", "label", "query",
         "purpose", "expression", "medicine", "dose"}


def doubles(param, value, text):
    """Whether "and" with another value can follow this one."""
    return param.type == "string" and value is not None and param.name not in TEXTS and not param.enum \
        and len(value.split()) <= 2 and text.count(value) == 1


def join_calls(rng, held_out, tools, text, calls):
    turns = [("user", text), ("model", "\n".join(call(tool, values) for tool, values in calls))]
    if rng.random() < 0.75:
        expected = [{"name": tool.name, "arguments": values} for tool, values in calls]
        return tools, turns, {"kind": "tools", "calls": expected}
    results = [outcome(rng, held_out, tool, values) for tool, values in calls]
    turns.append(("user", "\n".join(response(rng, result) for result, _, _ in results)))
    sentences = [sentence for _, sentence, _ in results]
    if all(texts == ["done"] for _, _, texts in results):
        sentences = ["Both are done."]
    turns.append(("model", " ".join(sentences)))
    return tools, turns, facts([text for _, _, texts in results for text in texts])


def with_result(rng, held_out):
    """The call, its result, and the sentence about it, sometimes followed by another request."""
    tool = target_of(rng, held_out)
    for _ in range(2):
        if tool.result is not None:
            break
        tool = target_of(rng, held_out)
    text, values = request(rng, held_out, tool)
    result, sentence, texts = outcome(rng, held_out, tool, values)
    turns = [("user", text), ("model", call(tool, values)), ("user", response(rng, result)), ("model", sentence)]
    tools = toolbox(rng, held_out, tool)
    r = rng.random()
    if r > 0.3:
        return tools, turns, facts(texts)
    if r < 0.06:
        asks, words, answers = SMALL_TALK[1]
        turns += [("user", asks.pick(rng, held_out)), ("model", rng.choice(answers))]
        return tools, turns, facts(words, "small talk")
    again = rng.choice(tools)
    text, values = request(rng, held_out, again)
    turns += [("user", text), ("model", call(again, values))]
    if r > 0.2:
        result, sentence, texts = outcome(rng, held_out, again, values)
        return tools, turns + [("user", response(rng, result)), ("model", sentence)], facts(texts)
    return tools, turns, called(again, values)


SHAPES = [(single, 52), (with_result, 20), (unfit, 9), (missing, 9), (small_talk, 5), (two, 5)]
MAKERS = [maker for maker, _ in SHAPES]
WEIGHTS = list(itertools.accumulate(weight for _, weight in SHAPES))


LONGEST = 2350  # Characters of a conversation


def sample(rng, held_out):
    while True:
        tools, turns, check = rng.choices(MAKERS, cum_weights=WEIGHTS)[0](rng, held_out)
        turns = [("system", system_of(rng, held_out, tools))] + turns
        if rng.random() < tools_alias.SHARE:
            turns, check = tools_alias.renamed(rng, held_out, turns, check)
        if sum(len(text) for _, text in turns) <= LONGEST:
            return Case(turns, check)
