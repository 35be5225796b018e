"""aider, as a person starts it: one message about a file in a repository of git. Its prompt with the
examples of an edit format has 4,000 tokens of pebble, which cannot edit: what counts is that it is
answered, and that aider knows a limit when it is told of one."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request

from cases import KEY, MODEL, URL, Skip, case, run

AIDER = os.path.join(os.path.dirname(sys.executable), "aider")
OPTIONS = ("--yes-always", "--no-pretty", "--no-check-update", "--no-show-release-notes", "--no-show-model-warnings",
           "--analytics-disable", "--no-gitignore", "--no-auto-commits", "--map-tokens", "0")
NEEDED = 5000


def context():
    request = urllib.request.Request(URL + "/models", headers={"Authorization": "Bearer " + KEY})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["data"][0]["context_length"]


def aider(*options, message="fix add", text="def add(a, b):\n    return a - b\n"):
    """What it printed."""
    if not shutil.which("git"):
        raise Skip("git is not installed")
    if context() < NEEDED:
        raise Skip(f"the server's context is {context()} tokens, aider's prompts need {NEEDED}")
    with tempfile.TemporaryDirectory() as folder:
        # A home of its own: the settings of the person who runs this stay out.
        env = {**os.environ, "HOME": folder, "OPENAI_API_BASE": URL, "OPENAI_API_KEY": KEY}
        repository = os.path.join(folder, "sums")
        for words in (["init", "-q", repository], ["-C", repository, "config", "user.name", "a"],
                      ["-C", repository, "config", "user.email", "a@example.com"]):
            subprocess.run(["git", *words], env=env, check=True, capture_output=True)
        with open(os.path.join(repository, "sums.py"), "w", encoding="utf-8") as f:
            f.write(text)
        done = subprocess.run([AIDER, "--model", "openai/" + MODEL, *OPTIONS, *options, "--message", message, "sums.py"],
                              cwd=repository, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout[-600:]
        return done.stdout


def check_answered(*options, **fields):
    said = aider(*options, **fields)
    assert "token limit" not in said and "litellm." not in said, said[-600:]
    # "Tokens: 2.4k sent, 34 received."
    received = [line for line in said.splitlines() if line.startswith("Tokens:")]
    assert received and " 0 received" not in received[0], said[-600:]
    return said


@case
def a_message_in_the_diff_format():
    check_answered("--edit-format", "diff")


@case
def a_message_in_the_diff_format_without_a_stream():
    check_answered("--edit-format", "diff", "--no-stream")


@case
def a_question_in_the_ask_mode():
    assert "42" in check_answered("--chat-mode", "ask", message="What is 12 plus 30?")


@case
def too_long_is_known_as_a_limit():
    said = aider("--edit-format", "diff", text="# one two three\n" * 4000)
    assert "has hit a token limit" in said, said[-600:]


run()
