"""Other names for the written tools and their parameters, so that the model takes them
from the declaration and not from memory: get_weather has a city, a location or a place,
and may be called fetchWeather."""

import re

from topics import invent
from topics.tools_list import TOOLS

SHARE = 0.5
ALIASES = {
    "city": "location place town where city_name location_name region area", "time": "at when clock at_time hour time_of_day",
    "to": "target recipient receiver destination to_name", "from": "source start from_place origin_name", "text": "content message body note words input",
    "date": "day on when_date start_date event_date", "title": "name heading caption item", "name": "full_name who person label_name", "room": "place location where area",
    "path": "file filename file_path target_path", "minutes": "duration length_minutes mins", "level": "value amount percent_level setting",
    "amount": "value sum total quantity", "priority": "importance urgency prio", "count": "number n times how_many", "team": "club team_name side",
    "server": "host machine node hostname", "kind": "type variety sort_of", "percent": "value level percentage", "hours": "duration length_hours", "unit": "units scale measure",
    "days": "number_of_days n_days span", "expression": "formula input calculation expr", "query": "q search text search_query keywords", "subject": "title topic headline",
    "body": "text message content", "label": "name tag reason", "language": "target_language lang to_language", "symbol": "ticker stock share code",
    "address": "place street_address location", "people": "guests persons party_size seats", "cuisine": "food kitchen style", "product": "item article product_name",
    "quantity": "amount count number", "order_id": "id order number", "tracking_number": "number parcel code id", "table": "table_name source relation",
    "limit": "max rows top", "task": "todo item text", "door": "which door_name target", "locked": "lock closed state", "origin": "from start departure", "destination": "to goal arrival",
    "nights": "number_of_nights duration stay", "word": "term text entry", "value": "number amount input", "from_unit": "unit_from source_unit from", "to_unit": "unit_to target_unit to",
    "color": "colour in_color paint", "url": "link address page", "message": "text comment msg", "branch": "branch_name name ref", "artist": "musician band performer",
}
VERBS = {"get": "fetch read lookup query show", "find": "search lookup locate list", "set": "change update configure", "create": "make add new",
         "add": "insert append put", "send": "deliver write post", "book": "reserve order", "call": "phone order ring", "read": "get load show",
         "start": "run begin launch", "convert": "change exchange compute"}
# Keywords of JSON Schema and of calls: a parameter with such a name keeps it.
OF_JSON = set("name type description parameters properties required arguments function enum items string integer number boolean "
              "array object strict".split())
NAME_OF = {tool.name: tool for tool in TOOLS}


def camel(name):
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def other_tool(rng, held_out, name):
    parts = name.split("_")
    r = rng.random()
    if r < 0.35 and parts[0] in VERBS:
        parts[0] = rng.choice(VERBS[parts[0]].split())
    elif r < 0.5:
        parts.reverse()
    elif r < 0.6:
        return invent.word(rng, held_out)
    joined = rng.choice(["_".join, "_".join, ".".join, "-".join])(parts)
    return camel("_".join(parts)) if rng.random() < 0.3 else joined


def other_parameter(rng, held_out, name):
    r = rng.random()
    if r < 0.7 and name in ALIASES:
        return rng.choice(ALIASES[name].split())
    if r < 0.85:
        return camel(f"{name}_{rng.choice(['value', 'input', 'field', 'arg', 'param'])}") if rng.random() < 0.3 else f"the_{name}"
    return invent.word(rng, held_out)


def renamed(rng, held_out, turns, check):
    """A conversation with other names for some of its written tools and their parameters."""
    text = "\n".join(t for _, t in turns)
    here = [name for name in NAME_OF if f'"{name}"' in turns[0][1]]
    names, keys = {}, {}
    used = set(re.findall(r'"([\w.-]+)"', turns[0][1]))
    for name in here:
        if rng.random() < 0.5:
            names[name] = other_tool(rng, held_out, name)
        # If a turn mentions the parameters' names or asks for one, they stay unchanged.
        if "Please tell me" in text or any(role == "user" and name in t for role, t in turns):
            continue
        for parameter in NAME_OF[name].params:
            new = other_parameter(rng, held_out, parameter.name)
            if parameter.name not in OF_JSON and new not in used and rng.random() < 0.7:
                used.add(new)
                keys.setdefault(parameter.name, new)
    if used & set(names.values()) or len(set(names.values())) < len(names):
        return turns, check
    tool = re.compile(r"(?<![\w.-])(" + "|".join(map(re.escape, names)) + r")(?![\w-]|\.\w)") if names else None
    key = re.compile('"(' + "|".join(keys) + ')"(?=[],:]|, )') if keys else None

    def instead(role, t):
        t = tool.sub(lambda m: names[m[1]], t) if tool else t
        return key.sub(lambda m: f'"{keys[m[1]]}"', t) if key and role != "user" else t

    def call(c):
        return {"name": names.get(c["name"], c["name"]), "arguments": {keys.get(k, k): v for k, v in c["arguments"].items()}}

    check = dict(check)
    if check["kind"] == "tool":
        check |= call(check)
    elif check["kind"] == "tools":
        check["calls"] = [call(c) for c in check["calls"]]
    elif check.get("topic") == "tools":
        check["all"] = [[names.get(choice, choice) for choice in choices] for choices in check["all"]]
    return [(role, instead(role, t)) for role, t in turns], check
