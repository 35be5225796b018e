#!/usr/bin/env python3
"""Renders small templates with Jinja as transformers configures it.

    tools/templates/cases.py            writes tests/golden/text/jinja.jsonl
    tools/templates/cases.py --check    prints the differences from that file

Needs jinja2 and transformers. The templates are in expressions.txt. If one fails, only the fact
is recorded, because vug has its own error messages.
"""

import copy
import datetime
import json
import pathlib
import sys

import transformers.utils.chat_template_utils as chat

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE.parent.parent / "tests" / "golden" / "text" / "jinja.jsonl"

VARIABLES = {
    "n": 5, "s": "foo bar", "x": None, "big": 123456789012345678901234567890,
    "lst": [1, 2, 3], "d": {"a": 1, "b": "two", "c": None}, "dmethod": {"items": [1], "keys": 2},
    "nested": {"x": [{"y": 1}, {"y": "zwei"}], "e": {}},
    "mixed": {"b": 2, "A": 3, "c": 1, "B": 0},
    "users": [
        {"name": "Bob", "age": 31, "address": {"city": "Rom"}},
        {"name": "al", "age": 25, "address": {"city": "Bonn"}},
        {"name": "Cy", "age": 31, "address": {"city": "Bonn"}},
    ],
}


class Now(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(1700000000)


chat.datetime = Now


def render(template, variables):
    """{"text": ..} or {"error": ..}, as transformers would."""
    try:
        # Without the cache: there are too many templates for it.
        compiled = chat._cached_compile_jinja_template(template)
        return {"text": compiled.render(**copy.deepcopy(variables))}
    except Exception as e:  # whatever it is, it is a refusal
        return {"error": f"{type(e).__name__}: {e}"}


def templates():
    for line in (HERE / "expressions.txt").read_text(encoding="utf-8").split("\n"):
        if line and not line.startswith("# "):
            yield line.replace("⏎", "\n").replace("⇥", "\t")


def table():
    yield json.dumps({"variables": VARIABLES}, ensure_ascii=False)
    for template in templates():
        row = {"template": template, **render(template, VARIABLES)}
        if "error" in row:
            row["error"] = True
        yield json.dumps(row, ensure_ascii=False)


def main():
    text = "\n".join(table()) + "\n"
    if "--check" not in sys.argv[1:]:
        TABLE.write_text(text, encoding="utf-8")
        return 0
    old = TABLE.read_text(encoding="utf-8").split("\n")
    different = [(a, b) for a, b in zip(old, text.split("\n")) if a != b]
    for a, b in different:
        print(f"- {a}\n+ {b}")
    return 1 if different or len(old) != text.count("\n") + 1 else 0


if __name__ == "__main__":
    sys.exit(main())
