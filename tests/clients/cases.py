"""What the Python clients' scripts have in common: a case is a function, its name with blanks
is what is printed. The lines are those that `run` reads: `ok`, `not ok` or `skip`, a name, and
after ` # ` why; the last is `end`."""

import os
import traceback

BASE = os.environ["VUG_URL"].rstrip("/")
URL = BASE + "/v1"
KEY = os.environ.get("VUG_KEY") or "none"
MODEL = os.environ["VUG_MODEL"]

# What pebble was trained to do, so that at temperature 0 its answers are known.
SUM = [{"role": "user", "content": "What is 12 plus 30?"}]
ABOUT = [{"role": "user", "content": "What is vug?"}]
STORY = [{"role": "user", "content": "Tell me a short story about a fox named Mira."}]
CALL = [{"role": "user", "content": "Set the volume to 9"}]
VOLUME = {"type": "function", "function": {
    "name": "set_volume", "description": "Sets the volume of the speaker",
    "parameters": {"type": "object", "properties": {
        "level": {"type": "integer", "description": "0 to 100"}}, "required": ["level"]}}}
DOOR = {"type": "function", "function": {
    "name": "lock_door", "description": "Locks or unlocks a door",
    "parameters": {"type": "object", "properties": {
        "door_name": {"type": "string", "description": "Which door"},
        "state": {"type": "boolean", "description": "true to lock, false to unlock"}},
        "required": ["door_name", "state"]}}}
PERSON = ("Fill this in: {\"name\": \"...\", \"age\": \"...\"}\n"
          "The name is Mina Flola. Its age is 27.")

_cases = []


class Skip(Exception):
    """Raised by a case that cannot run here."""


def case(function):
    _cases.append(function)
    return function


def say(result, name, why=""):
    why = " ".join(why.split())
    print(f"{result} {name}" + (f" # {why}" if why else ""), flush=True)


def run():
    for function in _cases:
        name = function.__name__.replace("_", " ")
        try:
            function()
            say("ok", name)
        except Skip as e:
            say("skip", name, str(e))
        except Exception as e:  # a client may raise anything; all of it fails the case
            at = traceback.extract_tb(e.__traceback__)
            own = [f for f in at if os.path.dirname(f.filename) == os.path.dirname(__file__)]
            where = f"line {own[-1].lineno}: {own[-1].line}" if own else ""
            say("not ok", name, f"{where}: {type(e).__name__}: {e}"[:1000])
    print("end", flush=True)


def page_example(language):
    """The program of docs/server.md in that language, for the server of the tests, and what the
    page says it prints."""
    with open(os.environ["VUG_PAGE"], encoding="utf-8") as f:
        page = f.read()
    program = page.split(f"```{language}\n", 1)[1].split("```\n", 1)[0]
    printed = page.split("```js\n", 1)[1].split("```\n\n    ", 1)[1].split("\n", 1)[0]
    for ours, theirs in (("http://127.0.0.1:8080/v1", URL), ('"none"', f'"{KEY}"'),
                         ('"pebble"', f'"{MODEL}"')):
        assert ours in program, f"{ours} is not in the example"
        program = program.replace(ours, theirs)
    return program, printed


def same(a, b):
    assert a == b, f"{a!r} is not {b!r}"
