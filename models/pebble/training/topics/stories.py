"""Short stories about given characters, and what people ask next about a story.

The story is generated first: heroes, plot, place, thing. The request then names some of
these, so that the answer always fits its request. Plots are in stories_plots, all other
words in stories_words."""

import re
from dataclasses import dataclass

from . import case, names, stories_plots, stories_plots2
from . import stories_words as words

PLOTS = stories_plots.PLOTS + stories_plots2.PLOTS
HIM = {"he": "him", "she": "her"}
HIS = {"he": "his", "she": "her"}

# The plots of a mood or theme; moods without plots of their own fit all plots except sad and spooky ones.
GENTLE = [p for p in PLOTS if not p.tags & {"sad", "spooky"}]
TAGGED = {tag: [p for p in PLOTS if tag in p.tags] for p in PLOTS for tag in p.tags}
TAGGED["bedtime"] = TAGGED["bedtime"] * 4 + GENTLE
TAGGED["happy"] = TAGGED["happy"] * 2 + GENTLE


@dataclass
class Who:
    name: str        # "" when the story says "the fox"
    kind: str        # "" when nothing is known but the name
    quality: str
    he: str
    told: bool           # whether the request names this one by name

    @property
    def ref(self):
        return self.name or "the " + self.kind

    @property
    def intro(self):
        if not self.kind:
            return self.name
        what = f"{self.quality} {self.kind}".strip()
        return f"{article(what)} {what} named {self.name}" if self.name else f"{article(what)} {what}"

    @property
    def sign(self):
        """What an answer about this hero must contain."""
        return self.name or self.kind


def article(word):
    return "an" if word[0] in "aeiou" and not word.startswith("uni") or word.startswith("honest") else "a"


def make_who(rng, held_out, taken, named=True):
    """A hero: a name, a kind, or both; a name alone only if the request may name it."""
    kind = quality = ""
    he = rng.choice(("he", "she"))
    if rng.random() < 0.5 or not named:
        kind = (words.SPECIES if rng.random() < 0.65 else words.PEOPLE).pick(rng, held_out)
        he = words.KINDS.get(kind) or he
        if rng.random() < 0.4:
            quality = names.QUALITIES.pick(rng, held_out)
    name = ""
    told = named and (not kind or rng.random() < 0.75)
    if not kind or rng.random() < 0.62:
        while not name or name in taken or (kind and names.pronoun(name) != he):
            name = names.person(rng, held_out)
        he = names.pronoun(name)
    if kind in taken:
        return make_who(rng, held_out, taken, named)
    taken.update((name, kind))
    return Who(name, kind, quality, he, told and bool(name))


class Slots(dict):
    """The words of one story: fixed ones, fillers that are drawn each time, and the friend,
    who is introduced at the first appearance."""

    def __init__(self, rng, story):
        super().__init__(story.fixed)
        self.rng = rng
        self.friend = story.friend
        self.friend_known = story.friend_in_setting

    def __missing__(self, key):
        if key in ("B", "newB"):
            known, self.friend_known = self.friend_known, True
            return self.friend.ref if known else self.friend.intro
        if key.endswith("_l"):
            key = key[:-2]
        return self.rng.choice(words.FILL[key])


AFTER_STOP = re.compile(r"(?<=[.!?] )[a-z]")
FIRST = re.compile(r"[A-Za-z]")


def sentence(text):
    """Capitals at the beginning of each sentence."""
    text = AFTER_STOP.sub(lambda m: m.group().upper(), text)
    return FIRST.sub(lambda m: m.group().upper(), text, count=1)


def listing(items):
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


class Story:
    """Everything that is decided before the text is generated."""

    def __init__(self, rng, held_out, heroes=None, avoid=None):
        self.rng = rng
        taken = {""}
        if heroes is None:
            n = rng.choices((1, 2, 3), (50, 38, 12))[0]
            heroes = [make_who(rng, held_out, taken) for _ in range(n)]
        else:
            for who in heroes:
                taken.update((who.name, who.kind))
        self.heroes = heroes
        self.mood = rng.choice(list(words.MOODS)) if rng.random() < 0.3 else ""
        self.theme = rng.choice(words.THEMES) if rng.random() < 0.25 and self.mood in ("", *words.ANYTHING) else ""
        plots = TAGGED[self.theme] if self.theme else TAGGED.get(self.mood, GENTLE if self.mood else PLOTS)
        self.plot = rng.choice(plots)
        while self.plot is avoid:
            self.plot = rng.choice(PLOTS)
        self.friend = heroes[1] if len(heroes) > 1 else make_who(rng, held_out, taken, named=False)
        self.friend_in_setting = len(heroes) > 1 or self.plot.together
        self.place = words.PLACES.pick(rng, held_out)
        while self.plot.outdoor and not self.place[1]:
            self.place = words.PLACES.pick(rng, held_out)
        self.thing = words.THINGS.pick(rng, held_out)
        self.full = f"{words.HOW_THINGS.pick(rng, held_out)} {self.thing}" if rng.random() < 0.6 else self.thing
        self.row = rng.choice(self.plot.rows)
        self.fix()

    def fix(self):
        """The words that stay the same through the story."""
        a, b, he = self.heroes[0], self.friend, self.heroes[0].he
        cast = self.heroes if len(self.heroes) > 1 or not self.friend_in_setting else [a, b]
        a_full = f"{article(self.full)} {self.full}"
        fixed = {"A": a.ref, "As": a.ref + "'s", "As0": a.sign, "Ac": sentence(a.ref), "introA": a.intro,
                 "he": he, "him": HIM[he], "his": HIS[he], "He": he.capitalize(), "himself": HIM[he] + "self",
                 "His": HIS[he].capitalize(), "Bs": b.ref, "Bc": sentence(b.ref), "Bv": b.name or "my friend",
                 "he2": b.he, "him2": HIM[b.he], "his2": HIS[b.he], "thing": self.thing, "full": self.full,
                 "a_full": a_full, "a_full_c": sentence(a_full), "place": self.place[0],
                 "C": cast[2].ref if len(cast) > 2 else "", "n": "two" if len(cast) == 2 else "three",
                 "all": listing([w.intro for w in cast])}
        fixed.update(self.row)
        if "odd" in self.row:
            fixed["odd_c"] = sentence(self.row["odd"])
        self.cast = cast
        # The words of the row may mention the hero.
        self.fixed = {k: v.format_map(fixed) if "{" in v else v for k, v in fixed.items()}

    def say(self, slots, text):
        return sentence(text.format_map(slots))

    def setting(self, slots):
        if len(self.cast) > 1:
            frames = words.MORE
        else:
            frames = words.ONE_KIND if self.cast[0].kind else words.ONE_NAME
        return self.say(slots, self.rng.choice(frames))

    def closing(self, slots, happy=False):
        if happy or "sad" not in self.plot.tags:
            key = "happy" if happy else self.theme or (self.mood if self.mood in words.CLOSERS else "any")
            if key == "any" and self.rng.random() < 0.4:
                key = self.rng.choice(sorted(self.plot.tags - {"spooky"}) or ["any"])
        else:
            key = "sad"
        return self.say(slots, self.rng.choice(words.CLOSERS[key]))

    def body(self, slots, steps, extra=True):
        """One variant of each step, with a line about the third friend after the problem."""
        out = []
        for i, step in enumerate(steps):
            out.append(self.say(slots, self.rng.choice(step)))
            if i == 0 and len(self.cast) > 2:
                out.append(self.say(slots, self.rng.choice(words.THIRD)))
        if extra and self.mood == "funny":
            out.insert(-1, self.say(slots, self.rng.choice(words.FUNNY)))
        return out

    def tell(self, happy=False):
        """The whole story as a list of sentences; `happy` gives a sad story another end."""
        rng, plot = self.rng, self.plot
        slots = Slots(rng, self)
        out = [self.setting(slots)]
        if len(self.cast) == 1 and rng.random() < 0.45:
            out.append(self.say(slots, rng.choice(words.CHARACTER)))
        steps = plot.steps[:-2] + plot.happy if happy and plot.happy else plot.steps
        out += self.body(slots, steps)
        if not plot.happy or not happy or rng.random() < 0.5:
            out.append(self.closing(slots, happy))
        return out

    def tell_short(self):
        """Setting, problem and the rest in a sentence each."""
        slots = Slots(self.rng, self)
        return [self.setting(slots), self.say(slots, self.rng.choice(self.plot.steps[0])),
                self.say(slots, self.rng.choice(self.plot.short))]

    def tell_next(self):
        """What happened after the story."""
        slots = Slots(self.rng, self)
        slots.friend_known = True
        return [self.say(slots, s) for s in self.rng.choice(words.NEXT)]

    def check(self):
        """For an answer to the request alone, which may not have all the names."""
        return {"kind": "story", "names": [w.name if w.told else w.kind for w in self.heroes]}

    def check_next(self, heroes=None):
        """For an answer that has seen the story."""
        return {"kind": "story", "names": [w.sign for w in heroes or self.heroes]}


def name_hero(rng, who):
    """How a request refers to a hero."""
    if not who.kind:
        return who.name
    what = f"{who.quality} {who.kind}".strip()
    a_what = f"{article(what)} {what}"
    if not who.name or not who.told:
        return a_what
    return case.one_of(rng, f"{a_what} named {who.name}", f"{a_what} named {who.name}", f"{a_what} called {who.name}",
                       f"{who.name} the {what}", f"{who.name}, {a_what}", f"the {what} {who.name}",
                       f"{a_what} with the name {who.name}", f"{a_what} whose name is {who.name}")


def clause(rng, story):
    """The subject of the plot, as a part of the request, if it fits the grammar."""
    options = []
    for text in story.plot.clauses:
        about_all = text.startswith(("who look ", "who have "))
        about_one = text.startswith("who") and not about_all
        if not (about_all and len(story.heroes) == 1) and not (about_one and len(story.heroes) > 1):
            options.append(text)
    if not options:
        return ""
    return rng.choice([" ", " ", ", "]) + rng.choice(options).format_map(Slots(rng, story))


def wish(rng, story):
    """(words before "story", words after the heroes): the properties that the request asks for."""
    how, tails = "", []
    if rng.random() < 0.3:
        tails.append(clause(rng, story))
    elif story.plot.uses_thing and rng.random() < 0.45:
        thing = f"{article(story.full)} {story.full}"
        tails.append(rng.choice(words.THING_TAILS).format(o=thing))
    if rng.random() < 0.25:
        tails.append(rng.choice(words.PLACE_TAILS).format(p=story.place[0]))
    if story.mood:
        before, behind = words.MOODS[story.mood]
        if rng.random() < 0.7:
            how = rng.choice(before)
        else:
            tails.append(". " + rng.choice(behind).rstrip("."))
    if story.theme:
        tails.append(rng.choice(words.THEME_TAILS).format(t=story.theme))
    # Parts that start a new sentence come last.
    tails.sort(key=lambda t: t.startswith(". "))
    return how, "".join(tails)


def request(rng, held_out, story, short=False):
    who = listing([name_hero(rng, w) for w in story.heroes])
    how, rest = wish(rng, story)
    if short:
        rest += ", " + rng.choice(words.SHORT_WISH)
    frame = words.FRAMES.pick(rng, held_out)
    about = rng.choice(words.ABOUT).format(who=who)
    text = sentence(frame.format(how=how, about=about, who=who, rest=rest))
    text = re.sub(r"\b([Aa]) (?=(adventure|exciting|extremely|old|ugly) )", r"\1n ", text)
    if rng.random() < 0.08:
        text = text.lower()
    return case.wrap(rng, case.casual(rng, text, lower=False))


def bare_request(rng, held_out, story):
    mood = story.mood
    how = rng.choice(words.MOODS[mood][0]) if mood else ""
    text = words.BARE.pick(rng, held_out).format(how=how)
    text = re.sub(r"\ba (?=(adventure|exciting) )", "an ", text)
    return case.wrap(rng, case.casual(rng, sentence(text)))


def ask(rng, held_out, table, **slots):
    return case.casual(rng, sentence(table.pick(rng, held_out).format(**slots)), lower=False)


def question(rng, held_out, story, story_text):
    """(question, answer, what the answer must contain) about a story."""
    a, b = story.heroes[0], story.friend
    kinds = ["own"] * 4 + ["where", "hero"]
    if story.plot.helper:
        kinds += ["helper"] * 3
    if a.kind and f"the {a.kind}" != b.ref and a.kind != b.kind:
        kinds += ["name"] * 4
    if b.kind and a.kind != b.kind and (f"a {b.kind}" in story_text or f" {b.kind} " in story_text):
        kinds += ["friend"] * 2
    kind = rng.choice(kinds)
    if kind == "own" and story.plot.asks:
        q, answer, must = (t.format_map(story.fixed) for t in rng.choice(story.plot.asks))
        if rng.random() < 0.2:
            q = "and " + q[0].lower() + q[1:]
        must = re.sub(r"^the ", "", must)
        return case.casual(rng, sentence(q), lower=False), sentence(answer), must
    if kind == "helper":
        helper, helped = (b, a) if story.plot.helper == "B" else (a, b)
        q = ask(rng, held_out, words.ASK_HELPER, a=helped.ref)
        return q, sentence(f"{helper.ref} helped {helped.ref}."), helper.sign
    if kind == "hero":
        q = ask(rng, held_out, words.ASK_HERO)
        return q, f"The story is about {a.ref}.", a.sign
    if kind in ("name", "friend"):
        who = a if kind == "name" else b
        frame = words.ASK_NAME.pick(rng, held_out)
        if "{his}" in frame and (a.he == b.he or kind == "friend"):
            frame = "what was the name of the {kind}?"
        q = case.casual(rng, sentence(frame.format(kind=who.kind, his=HIS[who.he])), lower=False)
        if not who.name:
            return q, f"The {who.kind} has no name in this story.", "no name"
        answer = rng.choice([f"The {who.kind}'s name was {who.name}.", f"The {who.kind} was called {who.name}."])
        return q, answer, who.name
    q = ask(rng, held_out, words.ASK_WHERE, a=a.ref)
    return q, sentence(f"{a.ref} lived {story.place[0]}."), story.place[0]


def renamed(rng, held_out, story, sentences):
    """The same story with another name that has the same pronoun: (request, sentences, new name)."""
    old = story.heroes[0].name
    text = " ".join(sentences)
    while True:
        new = names.person(rng, held_out)
        if names.pronoun(new) == names.pronoun(old) and new not in text:
            break
    q = ask(rng, held_out, words.ASK_NEW_NAME, new=new, old=old)
    pattern = re.compile(rf"\b{old}\b")
    return q, [pattern.sub(new, s) for s in sentences], new


def follow(rng, held_out, story, sentences):
    """(user, model, check) after a story."""
    text = " ".join(sentences)
    sad = bool(story.plot.happy)
    what = rng.choices(("question", "another", "shorter", "next", "happy", "rename", "longer"),
                       (40, 15, 12, 14, 30 if sad else 1, 8, 5))[0]
    if what == "another":
        new = Story(rng, held_out, heroes=story.heroes, avoid=story.plot)
        return ask(rng, held_out, words.ASK_ANOTHER), " ".join(new.tell()), new.check_next()
    if what == "shorter":
        return ask(rng, held_out, words.ASK_SHORTER), " ".join(story.tell_short()), story.check_next()
    if what == "next":
        new = story.tell_next()
        return ask(rng, held_out, words.ASK_NEXT), " ".join(new), story.check_next(story.heroes[:1])
    if what == "longer":
        return ask(rng, held_out, words.ASK_LONGER), " ".join(sentences + story.tell_next()), story.check_next()
    if what == "happy":
        return ask(rng, held_out, words.ASK_HAPPY), " ".join(story.tell(happy=True)), story.check_next()
    if what == "rename" and story.heroes[0].name:
        q, new, name = renamed(rng, held_out, story, sentences)
        check = story.check_next()
        check["names"][0] = name
        return q, " ".join(new), check
    q, answer, must = question(rng, held_out, story, text)
    return q, answer, {"kind": "facts", "all": [[must]], "topic": "story"}


def sample(rng, held_out):
    story = Story(rng, held_out)
    if rng.random() < 0.06:
        del story.heroes[1:]
        story.theme = ""
        story.friend_in_setting = story.plot.together
        story.fix()
        sentences = story.tell()
        check = {"kind": "story", "names": []}
        texts = [bare_request(rng, held_out, story), " ".join(sentences)]
    else:
        short = rng.random() < 0.05
        sentences = story.tell_short() if short else story.tell()
        check = story.check()
        texts = [request(rng, held_out, story, short), " ".join(sentences)]
    if rng.random() < 0.4 and len(sentences) > 3:
        user, model, check = follow(rng, held_out, story, sentences)
        texts += [user, model]
    return case.Case(case.turns(rng, held_out, *texts), check)
