"""Judges an answer: passes(check, answer). topics/case.py has the kinds of checks."""

import json
import re

CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.S)


def items(text):
    """The numbers and words after the last `=`, in order."""
    return re.findall(r"-?\d+|[A-Za-z]+", text.rsplit("=", 1)[-1])


def exact(check, answer):
    return items(answer) == items(check["answer"])


def facts(check, answer):
    low = answer.lower()
    return all(any(choice.lower() in low for choice in choices) for choices in check["all"])


def parses(answer):
    try:
        json.loads(answer)
        return True
    except ValueError:
        return False


def json_equal(check, answer):
    return parses(answer) and json.loads(answer) == check["value"]


def calls(answer):
    """The tool calls in an answer; None if one does not parse or if there is other text."""
    if CALL.sub("", answer).strip():
        return None
    try:
        found = [json.loads(c) for c in CALL.findall(answer)]
    except ValueError:
        return None
    return found if all(isinstance(c, dict) for c in found) else None


def tool(check, answer):
    return calls(answer) == [{"name": check["name"], "arguments": check["arguments"]}]


def tools(check, answer):
    return calls(answer) == check["calls"]


def no_tool(check, answer):
    return "<tool_call>" not in answer and "tool" in answer.lower()


def ask(check, answer):
    return "<tool_call>" not in answer and check["word"].lower() in answer.lower()


def story(check, answer):
    """The story names the characters, has an end and repeats no sentence and no sequence
    of eight words."""
    sentences = [s.strip() for s in re.split(r"(?<=[.!?])\s+", answer) if s.strip()]
    words = answer.split()
    runs = [tuple(words[i:i + 8]) for i in range(len(words) - 7)]
    return (all(name.lower() in answer.lower() for name in check["names"]) and answer.rstrip()[-1:] in '.!?"'
            and len(set(sentences)) == len(sentences) and len(set(runs)) == len(runs) and len(words) >= 15)


def small(check, answer):
    return "very small model" in answer.lower()


def any_answer(check, answer):
    return bool(answer.strip())


KINDS = {"exact": exact, "facts": facts, "json": json_equal, "tool": tool, "tools": tools, "no_tool": no_tool,
         "ask": ask, "story": story, "small": small, "any": any_answer}


def passes(check, answer):
    return KINDS[check["kind"]](check, answer)
