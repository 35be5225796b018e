"""Questions about vug and pebble, in as many ways as people ask them."""

import itertools

from . import case, facts_about, facts_commands, facts_models, facts_options, facts_terms
from .facts_frames import Asker, fill, finish, gerund, third

FACTS = facts_about.FACTS + facts_commands.FACTS + facts_options.FACTS + facts_models.FACTS + facts_terms.FACTS
ASKERS = [Asker(fact) for fact in FACTS]
# Cumulative weights for rng.choices.
CUMULATED = list(itertools.accumulate(fact.weight for fact in FACTS))
GROUPS = {}
for asker in ASKERS:
    if asker.fact.group:
        GROUPS.setdefault(asker.fact.group, []).append(asker)
GROUPED = [asker for group in GROUPS.values() for asker in group]
DOERS = [asker for asker in ASKERS if asker.fact.tasks]
SHOWERS = [asker for asker in ASKERS if asker.fact.example]

MORE = case.Table([
    "Tell me more.", "Tell me more about it.", "More details, please.", "Can you tell me more?", "more?", "Go on.",
    "Anything else?", "Is there more to know?", "What else should I know?", "Explain in more detail.",
    "Can you explain that in more detail?", "more info", "Could you elaborate?", "Elaborate.", "And what else?",
    "Give me more details.", "I want to know more.", "What more can you say about that?",
    "Interesting. Tell me more.", "details?", "Can you say more about that?", "tell me more please",
    "I would like to know more about this.", "What else?", "Say more.", "Is that all?", "More about that, please.",
    "Can you give me more information?", "Tell me a bit more.", "more information", "Do you know more about it?",
])
EXAMPLE = case.Table([
    "Can you give me an example?", "Show me an example.", "Give me an example.", "An example, please.", "example?",
    "For example?", "Do you have an example?", "Such as?", "Could you show an example?", "What would that look like?",
    "How does that look?", "Show me.", "Can you show me?", "What is an example of that?", "an example?",
    "Please give an example.", "Can I see an example?", "Give me a concrete example.", "I need an example.",
    "example please", "And an example?", "Could you give me an example of that?", "Let me see an example.",
])
AGAIN = case.Table([
    "Can you repeat that?", "Say that again, please.", "Once more?", "Please repeat.", "Again, please.",
    "Could you say that again?", "Repeat that.", "Sorry, what did you say?", "What did you say?",
    "I did not get that, please repeat.", "repeat", "Pardon?", "One more time, please.", "Say it again.",
])
THEN = case.Table([
    "And {q}", "Ok. {Q}", "Thanks. {Q}", "Thank you! {Q}", "And now: {q}", "Good. {Q}", "Next question: {q}",
    "Also, {q}", "Great. {Q}", "I see. {Q}", "Fine, and {q}", "Another question: {q}", "Then {q}", "Ok, {q}", "{Q}",
    "Got it. {Q}", "Nice. {Q}", "And one more thing: {q}", "Ok thanks, {q}", "Cool. {Q}",
])
ABOUT = case.Table([
    "What about {x}?", "And {x}?", "And what about {x}?", "How about {x}?", "and {x}", "what about {x}", "{x}?",
    "Ok, and {x}?", "And with {x}?", "Now {x}.", "Thanks. And {x}?", "also {x}?",
])
DOING = case.Table([
    "And how do I {t}?", "And to {t}?", "And {ing}?", "And if I want to {t}?", "What about {ing}?",
    "And which one {s}?", "And what if I want to {t}?", "Ok, and how can I {t}?", "and how to {t}",
    "then how do I {t}",
    "Good. Now I want to {t}.", "Next I want to {t}.", "And what {s}?", "Now how do I {t}?", "and for {ing}?",
    "How about {ing}?", "Thanks! And how would I {t}?",
])
NO_MORE = [
    "That is all I know about it. The documentation in docs/ says more, and `vug help` lists the commands.",
    "That is all I know: I am a very small model. You find more in the folder docs/ and with `vug help`.",
]


def sample(rng, held_out):
    """One question and its answer, or a follow-up to an earlier one."""
    r = rng.random()
    if r < 0.74:
        asker = pick(rng)
        question = case.wrap(rng, asker.ask(rng, held_out))
        return build(rng, held_out, [question, answer(rng, asker.fact)], asker.fact)
    if r < 0.80:
        return more(rng, held_out)
    if r < 0.85:
        return example(rng, held_out)
    if r < 0.87:
        return again(rng, held_out)
    if r < 0.92:
        return then(rng, held_out)
    if r < 0.96:
        return about(rng, held_out)
    return doing(rng, held_out)


def pick(rng):
    return rng.choices(ASKERS, cum_weights=CUMULATED)[0]


def answer(rng, fact):
    return rng.choice(fact.answers)


def first(rng, held_out, asker):
    """The turns before a follow-up."""
    return [asker.ask(rng, held_out), answer(rng, asker.fact)]


def build(rng, held_out, texts, fact, key=None, part=""):
    check = {"kind": "facts", "topic": fact.name + part, "all": key or fact.key}
    return case.Case(case.turns(rng, held_out, *texts), check)


def more(rng, held_out):
    asker = pick(rng)
    fact = asker.fact
    text, key = (fact.more, fact.more_key) if fact.more else (rng.choice(NO_MORE), [["docs"], ["vug help"]])
    texts = first(rng, held_out, asker) + [case.casual(rng, MORE.pick(rng, held_out)), text]
    return build(rng, held_out, texts, fact, key, "_more")


def example(rng, held_out):
    asker = rng.choice(SHOWERS)
    fact = asker.fact
    texts = first(rng, held_out, asker) + [case.casual(rng, EXAMPLE.pick(rng, held_out)), fact.example]
    return build(rng, held_out, texts, fact, fact.example_key, "_example")


def again(rng, held_out):
    asker = pick(rng)
    said = first(rng, held_out, asker)
    return build(rng, held_out, said + [case.casual(rng, AGAIN.pick(rng, held_out)), said[1]], asker.fact)


def then(rng, held_out):
    """Another whole question after an answer."""
    before, asker = pick(rng), pick(rng)
    question = asker.ask(rng, held_out)
    # After a fact of a group, two words alone would mean "what about" in that group.
    while before.fact.group and (question.count(" ") < 3 or question.lower().startswith("what about")):
        before, question = pick(rng), asker.ask(rng, held_out)
    small = question[0].lower() + question[1:] if question[1:2].islower() else question
    text = THEN.pick(rng, held_out).format(q=small, Q=question)
    return build(rng, held_out, first(rng, held_out, before) + [text, answer(rng, asker.fact)], asker.fact)


def about(rng, held_out):
    """"What about X?", where X is in the same group as the previous question."""
    before = rng.choice(GROUPED)
    asker = rng.choice([a for a in GROUPS[before.fact.group] if a is not before])
    text = finish(rng, ABOUT.pick(rng, held_out).format(x=rng.choice(asker.fact.short)))
    return build(rng, held_out, first(rng, held_out, before) + [text, answer(rng, asker.fact)], asker.fact)


def doing(rng, held_out):
    """"And how do I ...?" after another how."""
    before, asker = rng.choice(DOERS), rng.choice(DOERS)
    task = fill(rng, rng.choice([t for t in asker.fact.tasks if case.held(t) == (held_out == case.ALL_OTHER)] or asker.fact.tasks[:1]))
    text = DOING.pick(rng, held_out).format(t=task, ing=gerund(task), s=third(task))
    texts = first(rng, held_out, before) + [case.casual(rng, text), answer(rng, asker.fact)]
    return build(rng, held_out, texts, asker.fact)
