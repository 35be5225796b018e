"""How people ask about vug: frames around a task, a thing, a command, an option, an
ability or an attribute, and the Fact that fills them. The data is in
facts_about, facts_commands, facts_options, facts_models and facts_terms."""

import re
from collections import Counter
from dataclasses import dataclass, field

from . import case


@dataclass
class Fact:
    """One fact. Every list below except `answers` and `key` holds cores of questions
    that `answers` answers. The first of a list is the plainest and is always trained;
    one in eight of the others is held out."""

    name: str
    answers: list
    key: list                    # as in the check "facts": each inner list, one of
    weight: float = 1.0
    asks: list = field(default_factory=list)        # whole questions
    tasks: list = field(default_factory=list)       # "quantize a model": how do I ...
    how: str = "command"                            # what does a task: command, option, plain
    things: list = field(default_factory=list)      # "a token": what is ...
    plurals: list = field(default_factory=list)     # "tokens": what are ...
    command: str = ""                               # "bench": what does vug bench do
    options: list = field(default_factory=list)     # "--seed": what does it do
    abilities: list = field(default_factory=list)   # "read GGUF files": can vug ...
    attributes: list = field(default_factory=list)  # "licence": what is the ... of vug
    terse: list = field(default_factory=list)       # "gguf support": two words and a mark
    group: str = ""                                 # "what about X?" stays in a group
    short: list = field(default_factory=list)       # the X
    more: str = ""
    more_key: list = field(default_factory=list)
    example: str = ""
    example_key: list = field(default_factory=list)


SLOTS = {
    "vug": ["vug"] * 12 + ["the program", "this program", "this tool", "the tool", "the engine", "this engine", "it",
                           "this software", "Vug", "VUG"],
    "Vug": ["vug"] * 5 + ["Vug", "the vug program", "the vug engine", "this program", "this tool", "the vug tool",
                          "this software", "vug, the program"],
    "its": ["vug's"] * 5 + ["its", "the program's", "the engine's"],
    "model": ["a model", "a model", "a model", "my model", "the model", "a checkpoint", "my checkpoint", "models",
              "a Gemma model", "a Qwen model", "Gemma 3", "gemma-3-1b-it", "Qwen 3", "an LLM", "a language model",
              "a model folder"],
    "a": ["a", "my", "the", "some"],
    "kinds": ["models", "models", "model families", "LLMs", "language models", "architectures", "model architectures",
              "families of models", "kinds of models", "networks", "families", "model types", "types of models",
              "open models"],
    "formats": ["formats", "formats", "file formats", "model formats", "file types", "checkpoint formats",
                "weight formats", "types of files", "kinds of files", "model file formats", "formats of models",
                "formats of weights", "formats of checkpoints"],
    "support": ["support", "run", "handle", "work with", "know", "accept", "load", "understand"],
    "read": ["read", "support", "load", "accept", "handle", "understand", "open", "work with", "take", "know"],
    "supported": ["supported", "supported by vug", "possible", "accepted", "available", "supported here"],
    "commands": ["commands", "commands", "subcommands", "vug commands", "terminal commands", "command line commands"],
    "other": ["Mistral", "Mixtral", "Phi", "Phi-3", "DeepSeek", "GPT-4", "GPT", "Falcon", "Claude", "Gemini", "Grok",
              "BERT", "Whisper", "Stable Diffusion", "Command R", "GPT-2", "GLM", "Mamba", "RWKV", "OLMo", "Yi",
              "Kimi",
              "StarCoder", "ChatGPT", "T5", "Granite", "BLOOM", "Phi-4", "DeepSeek V3", "DeepSeek R1", "gpt-oss",
              "Mistral 7B", "MiniMax", "mistral", "phi", "deepseek"],
    "pc": ["my computer", "my laptop", "my machine", "my PC", "this machine", "this computer", "my own computer",
           "my desktop", "a laptop", "a PC"],
}
WITH_VUG = [" with vug"] * 4 + [" in vug"] * 2 + [" using vug", " with this program", " with this tool", " here"]
SLOT = re.compile(r"\{(\w+)\}")

HOW = [
    "How do I {t}?", "How can I {t}?", "How to {t}?", "How would I {t}?", "How does one {t}?", "How do you {t}?",
    "How could I {t}?", "How should I {t}?", "How do we {t}?", "How can you {t}?", "How might I {t}?",
    "What do I type to {t}?", "What do I have to type to {t}?", "What should I type to {t}?", "What do I do to {t}?",
    "What do I need to do to {t}?", "What must I do to {t}?", "Show me how to {t}.", "Tell me how to {t}.",
    "Explain how to {t}.", "Can you tell me how to {t}?", "Can you show me how to {t}?",
    "Could you explain how to {t}?", "Could you tell me how I can {t}?", "Please show me how to {t}.",
    "Please explain how I {t}.", "I want to {t}.", "I want to {t}. How?", "I want to {t}, what do I do?",
    "I would like to {t}.", "I'd like to {t}.", "I'd like to {t}, how does that work?", "I need to {t}.",
    "I need to {t}, how do I do that?", "I am trying to {t}.", "I'm trying to {t}, how is it done?",
    "Is it possible to {t}?", "Is there a way to {t}?", "Is there any way to {t}?", "Can I {t}?", "Could I {t}?",
    "Can one {t}?", "Am I able to {t}?", "Help me {t}.", "Help me to {t}, please.", "Do you know how to {t}?",
    "What are the steps to {t}?", "What is the way to {t}?", "What is the best way to {t}?",
    "What is the easiest way to {t}?", "What's the right way to {t}?", "how {t}", "{t}?", "{t}", "{t} how",
    "{t}, how?", "{ing}?", "{ing}", "way to {t}", "howto {t}", "need to {t}", "trying to {t}", "want to {t}",
    "help with {ing}", "I need help with {ing}.", "Can you help me with {ing}?", "What about {ing}?",
    "Teach me how to {t}.", "What if I want to {t}?", "Suppose I want to {t}.", "My goal is to {t}.",
    "I do not know how to {t}.", "I don't know how to {t}.", "I have no idea how to {t}.", "How is {ing} done?",
    "How does {ing} work?", "Instructions for {ing}?", "Where do I start if I want to {t}?", "how do u {t}",
    "Does {vug} let me {t}?", "How does {vug} let me {t}?", "It would be nice to {t}.", "I wish to {t}.",
    "Someone asked me to {t}. How?", "Remind me how to {t}.", "I forgot how to {t}.",
]
# "Can I run Gemma?" asks whether Gemma is supported, not for a command.
MAY_I = frozenset(f for f in HOW if f.startswith(("Is it possible", "Can I ", "Could I ", "Can one", "Am I able",
                                                  "Does ")))
FAMILY = re.compile("gemma|qwen|llama", re.IGNORECASE)
HOW_COMMAND = [
    "What is the command to {t}?", "Which command do I use to {t}?", "What command lets me {t}?",
    "What should I run to {t}?", "Is there a command to {t}?", "Give me the command to {t}.",
    "Give me the command for {ing}.", "What is the command for {ing}?", "Which command {s}?", "What command {s}?",
    "Which vug command {s}?", "Which command is for {ing}?", "Which command is used for {ing}?",
    "Which subcommand {s}?", "What's the command that {s}?", "command to {t}", "command for {ing}", "cmd to {t}",
    "Which command would I use to {t}?", "Which command do I need to {t}?", "What vug command can {t}?",
    "Tell me the command to {t}.", "Say I want to {t}. What is the command?", "which command to {t}",
    "What command should I use for {ing}?", "Name the command that {s}.", "I need the command that {s}.",
    "What is the name of the command that {s}?", "Show me the command to {t}.", "Write the command to {t}.",
    "With which command can I {t}?", "Is there something in vug that {s}?",
]
HOW_OPTION = [
    "Which option do I use to {t}?", "What option lets me {t}?", "Is there an option to {t}?", "Which option {s}?",
    "What option {s}?", "What flag {s}?", "Which flag {s}?", "What is the option to {t}?", "What is the flag to {t}?",
    "What is the option for {ing}?", "option to {t}", "option for {ing}", "flag to {t}", "Is there a flag to {t}?",
    "Which parameter {s}?", "What setting {s}?", "Tell me the option to {t}.", "Name the option that {s}.",
    "Which command line option {s}?", "Which option of vug run {s}?", "Which switch {s}?",
    "With which option can I {t}?", "Give me the option that {s}.",
]
THING = [
    "What is {x}?", "What's {x}?", "whats {x}", "What does {b} mean?", "What is meant by {b}?", "Explain {x}.",
    "Explain {b} to me.", "Can you explain {x}?", "Can you explain what {x} is?", "Could you tell me what {x} is?",
    "Tell me what {x} is.", "Tell me about {b}.", "Define {b}.", "Give me a definition of {b}.",
    "What is the meaning of {b}?", "I do not know what {x} is.", "I don't know what {b} means.",
    "Do you know what {x} is?", "What exactly is {x}?", "{b}?", "{b}", "{b} meaning", "{b} definition",
    "meaning of {b}", "explain {b}", "define {b}", "In simple words, what is {x}?", "What is {x} in simple terms?",
    "What do people mean by {b}?", "I keep reading about {b}. What is it?", "What is {x} in a language model?",
    "Describe {x}.", "What do you mean by {b}?", "What does the word {b} mean?", "What does the term {b} mean?",
    "What is the definition of {b}?", "Please explain what {b} means.", "Could you explain {b}?",
    "How would you explain {x}?", "What would you say {x} is?", "I have heard of {b}. What is that?",
    "Tell me what {b} means.", "what is {b}", "{b} - what is that?", "{b}, what does it mean?",
    "I want to understand {b}.", "Help me understand {b}.", "Explain in one sentence what {x} is.",
    "Give me a short explanation of {b}.", "What kind of thing is {x}?", "Explain like I am five: what is {x}?",
    "Can you define {b}?", "What is the idea of {b}?", "How does {b} work?", "Tell me something about {b}.",
]
PLURAL = [
    "What are {x}?", "what're {x}", "Explain {x}.", "Tell me about {x}.", "Tell me what {x} are.",
    "Can you explain what {x} are?", "What does {x} mean?", "{x}?", "What exactly are {x}?",
    "I do not know what {x} are.", "Do you know what {x} are?", "What do you mean by {x}?", "Define {x}.",
    "What are {x} in a language model?", "Help me understand {x}.", "In simple words, what are {x}?",
]
COMMAND = [
    "What does vug {c} do?", "What does the {c} command do?", "What is vug {c}?", "What is vug {c} for?",
    "What is the {c} command for?", "What is {c} for in vug?", "What is the command {c} for?", "Explain vug {c}.",
    "Explain the {c} command.", "Tell me about vug {c}.", "Tell me about the {c} command.", "How do I use vug {c}?",
    "How do I use the {c} command?", "How does vug {c} work?", "How does the {c} command work?",
    "When do I use vug {c}?", "When would I use the {c} command?", "What can I do with vug {c}?",
    "Why would I use vug {c}?", "vug {c}", "vug {c}?", "{c} command", "{c} command?", "the {c} command?",
    "help with {c}", "help with vug {c}", "help {c}", "usage of {c}", "vug {c} usage", "vug {c} help",
    "Show me vug {c}.", "Show me how to use vug {c}.", "Describe vug {c}.", "What happens when I run vug {c}?",
    "What does the command vug {c} do?", "what is `vug {c}`", "Give me help on {c}.", "How is vug {c} used?",
    "What is the syntax of vug {c}?", "syntax of vug {c}", "What arguments does vug {c} take?",
    "What does {c} do in vug?", "Can you explain vug {c}?", "Can you explain the {c} command?", "info on vug {c}",
    "I do not understand vug {c}.", "purpose of vug {c}", "What is the purpose of vug {c}?", "use of vug {c}",
    "how to use {c}", "how to use vug {c}", "What do I need vug {c} for?", "What's vug {c} good for?",
    "In vug, what is {c}?", "I saw vug {c}. What is it?", "Please describe the {c} command of vug.",
    "What is the {c} subcommand?", "What will vug {c} show me?", "what does '{c}' do", "How do I call vug {c}?",
    "What can you tell me about vug {c}?", "Tell me everything about vug {c}.", "What do you know about vug {c}?",
    "What does running vug {c} do?", "Explain what vug {c} does.", "Tell me what vug {c} does.",
    "Can you tell me what the {c} command does?", "I want to know what vug {c} does.", "vug {c} explained",
    "What is the job of vug {c}?", "Give me a description of vug {c}.", "What would vug {c} do?", "why vug {c}",
]
COMMAND_BARE = ["What does {c} do?", "what is {c}", "{c}?", "{c} how", "how {c}", "Can you explain {c}?", "{c}"]
OPTION = [
    "What does {o} do?", "What is {o}?", "What is {o} for?", "Explain {o}.", "How do I use {o}?", "{o}", "{o}?",
    "Tell me about the option {o}.", "What does the option {o} do?", "What does the {o} flag do?",
    "What does {o} mean?", "What is the meaning of {o}?", "When do I use {o}?", "help with {o}", "the {o} option?",
    "option {o}", "What is the option {o} for?", "What is the {o} option of vug run?", "how does {o} work",
    "Can you explain the {o} option?", "What happens with {o}?", "Why would I use {o}?",
]
ABILITY = [
    "Can {vug} {t}?", "Does {vug} {t}?", "Could {vug} {t}?", "Is {vug} able to {t}?", "Does {vug} support {ing}?",
    "Is it possible to {t} with vug?", "Can I {t} with vug?", "Can I use vug to {t}?",
    "Do you know if {vug} can {t}?", "I want to know whether {vug} can {t}.", "Tell me whether {vug} can {t}.",
    "Will {vug} {t}?", "Is {ing} possible with vug?", "Is {ing} supported?", "can it {t}", "can vug {t}",
    "vug {t}?", "support for {ing}?", "I wonder if {vug} can {t}.", "Is there support for {ing}?",
    "Do you know whether vug is able to {t}?", "Is vug capable of {ing}?", "Am I able to {t} with vug?",
    "Would {vug} {t}?", "Is it true that vug can {t}?", "does it {t}", "Can this {t}?",
]
ATTRIBUTE = [
    "What is the {a} of {Vug}?", "What is {its} {a}?", "What's the {a}?", "Tell me the {a} of {Vug}.",
    "Tell me about the {a} of {Vug}.", "{a}?", "{a}", "{a} of vug", "vug {a}", "what {a} does {vug} have",
    "What is the {a}?", "Do you know the {a} of {Vug}?", "Can you tell me the {a} of {Vug}?", "the {a}?",
]
TERSE = ["{x}", "{x}?", "{x}?", "vug {x}", "vug {x}?", "vug: {x}?", "{x} please", "about {x}", "{x} in vug",
         "question about {x}", "info: {x}"]

THIRD = {"do": "does", "have": "has", "go": "goes", "be": "is"}
DOUBLED = {"run", "set", "get", "put", "stop", "cut", "chat", "split", "quit", "let", "begin", "shut", "plug", "fit"}


def third(task):
    """"quantize a model" -> "quantizes a model"."""
    verb, _, rest = task.partition(" ")
    if verb in THIRD:
        verb = THIRD[verb]
    elif verb.endswith(("s", "sh", "ch", "x", "z")):
        verb += "es"
    elif verb.endswith("y") and verb[-2] not in "aeiou":
        verb = verb[:-1] + "ies"
    else:
        verb += "s"
    return f"{verb} {rest}".rstrip()


def gerund(task):
    """"quantize a model" -> "quantizing a model"."""
    verb, _, rest = task.partition(" ")
    if verb in DOUBLED:
        verb += verb[-1]
    elif verb.endswith("e") and not verb.endswith(("ee", "be")):
        verb = verb[:-1]
    return f"{verb}ing {rest}".rstrip()


def bare(thing):
    """A thing without its article."""
    return re.sub(r"^(a|an|the) ", "", thing)


def frames_of(fact):
    """For each way of asking about a fact: (weight, frames, slot texts, slot name)."""
    how = HOW + {"command": HOW_COMMAND, "option": HOW_OPTION, "plain": []}[fact.how]
    command = COMMAND + ([] if fact.name.endswith("_cmd") else COMMAND_BARE)
    rows = [
        (1.2 * len(fact.asks), ["{q}"], fact.asks, "q"),
        (8 + 1.5 * len(fact.tasks), how, fact.tasks, "t"),
        (10 + 2 * len(fact.things), THING, fact.things, "x"),
        (4 + len(fact.plurals), PLURAL, fact.plurals, "x"),
        (16, command, [fact.command] if fact.command else [], "c"),
        (5 + len(fact.options), OPTION, fact.options, "o"),
        (8 + len(fact.abilities), ABILITY, fact.abilities, "t"),
        (5 + len(fact.attributes), ATTRIBUTE, fact.attributes, "a"),
        (1 + 0.7 * len(fact.terse), TERSE, fact.terse, "x"),
    ]
    return [row for row in rows if row[2]]


def words_of(text):
    return set(re.findall(r"[a-z0-9]+", text.lower()))


COMMON_WORDS = words_of(" ".join(HOW + HOW_COMMAND + HOW_OPTION + THING + COMMAND + ABILITY + ATTRIBUTE + TERSE))


def known_words(fact):
    """The words that more than one core of a fact has, besides those of the frames. A core
    with another word is never held out, because only it tells that the word belongs to
    the fact; the evaluation is of phrasing, not of vocabulary."""
    lists = [fact.asks, fact.tasks, fact.things, fact.plurals, fact.options, fact.abilities, fact.attributes,
             fact.terse]
    seen = Counter(word for texts in lists for text in texts for word in words_of(text))
    return COMMON_WORDS | {word for word, n in seen.items() if n > 1}


def is_held(texts, text, frame, name, known):
    """The world of a core: chosen by its own text if there are enough cores, otherwise
    together with its frame. The plainest is always trained."""
    if len(texts) >= 5:
        return text != texts[0] and words_of(text) <= known and case.held(text)
    return (text, frame) != (texts[0], "") and case.held(f"{name}/{text}/{frame}")


def plain(text):
    """The question without capitals and punctuation at the end, for comparison."""
    return " ".join(text.lower().strip(" ?.!").split())


# All held-out questions: another beginning must not turn a trained core into one of them.
HELD_TEXTS = set()  # filled while the askers are made, read only after that


class Asker:
    """The questions about one fact, in both worlds."""

    def __init__(self, fact):
        self.fact = fact
        self.worlds = {False: [], True: []}
        known = known_words(fact)
        for weight, frames, texts, slot in frames_of(fact):
            for world in self.worlds:
                pairs = [(f, t) for t in texts for i, f in enumerate(frames)
                         if is_held(texts, t, f if i else "", fact.name, known) == world]
                if pairs:
                    self.worlds[world].append((weight, pairs, slot))
        if not self.worlds[True]:
            self.hold_one()
        for _, pairs, slot in self.worlds[True]:
            HELD_TEXTS.update(plain(fill_in(None, f, fill(None, t), slot)) for f, t in pairs)
        self.weights = {w: [row[0] for row in rows] for w, rows in self.worlds.items()}

    def hold_one(self):
        """If no core is in the held-out world, puts one there: the first after the plainest of
        the longest list."""
        i = max(range(len(self.worlds[False])), key=lambda i: len(self.worlds[False][i][1]))
        weight, pairs, slot = self.worlds[False][i]
        texts = list(dict.fromkeys(text for _, text in pairs))
        core = next((t for t in texts[1:] if words_of(t) <= known_words(self.fact)), texts[-1])
        held = [(f, t) for f, t in pairs if t == core]
        self.worlds[False][i] = (weight, [pair for pair in pairs if pair not in held], slot)
        self.worlds[True].append((weight, held, slot))

    def ask(self, rng, held_out):
        """A question, as people type it."""
        other = held_out == case.ALL_OTHER
        while True:
            _, pairs, slot = rng.choices(self.worlds[other], self.weights[other])[0]
            frame, text = rng.choice(pairs)
            text = fill(rng, text)
            if frame in MAY_I and FAMILY.search(text):
                continue
            if slot == "t" and "vug" not in text and "vug" not in frame and "supported" not in frame:
                text += rng.choice(WITH_VUG) if rng.random() < 0.3 else ""
            text = vary(rng, fill_in(rng, frame, text, slot))
            if other or plain(text) not in HELD_TEXTS:
                return finish(rng, text)


def fill_in(rng, frame, text, slot):
    """The question that a frame and a core make. Without an rng, the slots of the frame
    take their first words."""
    words = {slot: text}
    if slot == "t":
        words.update(ing=gerund(text), s=third(text))
    elif slot == "x":
        words.update(b=bare(text))
    return fill(rng, frame, words)


def fill(rng, text, words=()):
    """Puts words into the slots of a frame or core."""
    if "{" not in text:
        return text
    return SLOT.sub(lambda m: words[m[1]] if m[1] in words else rng.choice(SLOTS[m[1]]) if rng else SLOTS[m[1]][0],
                    text)


# How a question begins, and other ways to begin it.
BEGINNINGS = [
    ("How do I ", ["How can I ", "How would I ", "How to ", "How could I ", "How does one ", "How do you "]),
    ("What is ", ["What's ", "Whats ", "What exactly is "]),
    ("What are ", ["What're ", "What exactly are ", "Tell me: what are "]),
    ("Which ", ["What ", "What ", "Please say which "]),
    ("Can I ", ["Could I ", "May I ", "Is it possible to ", "Am I able to "]),
    ("Can you ", ["Could you ", "Would you ", "Are you able to "]),
    ("Do I need ", ["Will I need ", "Do I have to have ", "Must I have ", "Do you need "]),
    ("Tell me ", ["Please tell me ", "Can you tell me ", "Could you tell me ", "I want to know ",
                  "I'd like to know ", "Let me know "]),
    ("Explain ", ["Please explain ", "Can you explain ", "Could you explain "]),
    ("I want to ", ["I would like to ", "I'd like to ", "I need to ", "I wish to "]),
    ("I am ", ["I'm "]),
    ("I do not ", ["I don't ", "I dont "]),
]


LEADS = ["Tell me {i}.", "I want to know {i}.", "Can you tell me {i}?", "Do you know {i}?",
         "I would like to know {i}.",
         "I'd like to know {i}.", "Could you tell me {i}?", "Please tell me {i}.", "I wonder {i}.", "tell me {i}",
         "I need to know {i}.", "Would you tell me {i}?", "I was wondering {i}.", "I am not sure {i}.",
         "Let me know {i}.",
         "I have no idea {i}.", "Do you happen to know {i}?", "Please explain {i}.", "My question is {i}."]
SUBJECT = r"(vug|it|pebble|the server|the program|this program|the engine|this tool|the tool|this software)"
# A direct question and the clause that it becomes.
CLAUSES = [(re.compile(direct), clause) for direct, clause in [
    (r"What is ((?:\S+ ){0,4}\S+)\?", r"what \1 is"),
    (r"What are ((?:\S+ ){0,4}\S+)\?", r"what \1 are"),
    (r"What does (.+) do\?", r"what \1 does"),
    (r"What does (.+) mean\?", r"what \1 means"),
    (r"How do I (.+)\?", r"how to \1"),
    (r"How do I (.+)\?", r"how I can \1"),
    (r"How big are you\?", r"how big you are"),
    (r"Which (\w+) are (supported|available|possible|needed)\?", r"which \1 are \2"),
    (r"Which (.+) can I (.+)\?", r"which \1 I can \2"),
    (r"What (\w+) can I (.+)\?", r"what \1 I can \2"),
    (r"Which (.+) does " + SUBJECT + r" (have|run|support|read)\?", r"which \1 \2 can \3"),
    (r"(?:Does|Can) " + SUBJECT + r" (.+)\?", r"whether \1 can \2"),
    (r"(?:Does|Can) " + SUBJECT + r" (.+)\?", r"if \1 can \2"),
    (r"Is " + SUBJECT + r" (.+)\?", r"if \1 is \2"),
    (r"Is there (.+)\?", r"if there is \1"),
    (r"Can I (.+)\?", r"if I can \1"),
    (r"Are you (.+)\?", r"if you are \1"),
    (r"Do you (.+)\?", r"if you \1"),
    (r"Do I need (.+)\?", r"if I need \1"),
    (r"Do I have to (.+)\?", r"if I have to \1"),
    (r"Where is (.+)\?", r"where \1 is"),
    (r"Where do I (.+)\?", r"where I \1"),
    (r"Who are you\?", r"who you are"),
    (r"Who ((?:made|trained|created|built|wrote|makes) .+)\?", r"who \1"),
    (r"How many (\w+) do you have\?", r"how many \1 you have"),
    (r"Why should I (.+)\?", r"why I should \1"),
]]


def indirect(rng, text):
    """The question as a clause of another sentence, if it has a known form."""
    fit = [(m, clause) for direct, clause in CLAUSES if (m := direct.fullmatch(text))]
    if not fit:
        return text
    m, clause = rng.choice(fit)
    return rng.choice(LEADS).format(i=m.expand(clause))


def vary(rng, text):
    """Another beginning, or an indirect question, in one case of three."""
    r = rng.random()
    if r > 0.35:
        return text
    if r < 0.10:
        return indirect(rng, text)
    for head, others in BEGINNINGS:
        if text.startswith(head):
            new = rng.choice(others)
            if new.startswith(("Can you", "Could you")) and text.endswith("."):
                text = text[:-1] + "?"
            return new + text[len(head):]
    return text


def finish(rng, text):
    """Adds the capital at the beginning, then typing errors. Text in lower case stays so
    half of the time."""
    if rng.random() < 0.6 and not text.startswith("vug"):
        text = text[0].upper() + text[1:]
    return case.casual(rng, text)
