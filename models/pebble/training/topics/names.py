"""Names that the topics use: given names, animals, cities, professions, colours and
qualities, and invented names. All are ASCII, and case.Table splits all of them between
the training and the held-out world."""

from . import case

# Given names, by the pronoun that the stories use for them.
SHE = """
    Ada Aiko Aisha Alba Alice Alina Alma Amara Amelia Amina Amira Ana Anika Anita Anja Anna Astrid Aurora Ava Aya
    Ayla Beatrice Bella Berta Bianca Bridget Camila Carla Carmen Carol Cecilia Celine Chiara Chloe Clara Claire Daisy
    Dalia Dana Daphne Diana Dora Edith Elena Elif Elin Elise Ella Elsa Emily Emma Erika Esra Esther Eva Eve Farah
    Fatima Fiona Flora Freya Frida Gerda Gloria Grace Greta Hana Hanna Harriet Hazel Heidi Helena Hilda Holly Ida
    Ilse Ines Ingrid Irene Iris Isabel Ivy Jana Jane Jasmin Joanna Josefa Joy Julia June Kaja Karin Kate Kavya Keiko
    Kiara Kirsten Klara Lara Laura Layla Lea Leila Lena Leonie Lila Lily Lina Linnea Lisa Lola Lotta Lucia Lucy Luna
    Lydia Mai Maja Malala Mara Margot Maria Marie Marta Mary Matilda Maya Mei Mia Mila Mina Mira Miriam Molly Mona
    Nadia Naomi Nelly Nia Nina Noor Nora Olga Olive Olivia Paula Pearl Petra Pia Pilar Polly Priya Rahel Rania Rita
    Rosa Rose Ruby Ruth Sakura Salma Sana Sara Selma Shanti Sigrid Silvia Sofia Sonja Stella Sue Svea Tamara Tara
    Tessa Thea Tilda Tina Tove Uma Ursula Valeria Vera Victoria Vilma Violet Wanda Wilma Yara Yasmin Yuki Yuna Zahra
    Zara Zoe Zora Zuri
""".split()
HE = """
    Aaron Abdul Abel Adam Adrian Ahmed Akira Alan Albert Alex Ali Amir Anders Andre Anton Arjun Arne Arthur Axel Bao
    Bela Ben Bernd Bert Bilal Bob Bruno Carl Carlos Cem Chen Chidi Christian Clive Conor Cyrus Dan Daniel Dario David
    Dev Diego Dieter Dilan Dmitri Edgar Edward Elias Emil Emre Enzo Erik Ernst Ethan Farid Felix Finn Frank Franz Fred
    Fritz George Giulio Gregor Gus Hamid Hans Haruto Hassan Hector Henrik Henry Hiro Hugo Ian Ibrahim Igor Ilya Imran
    Isaac Ivan Jack Jakob Jamal James Jan Javier Jens Jim Joel John Jonas Jorge Josef Juan Kai Karim Karl Kenji Kofi
    Kurt Kwame Lars Leo Liam Linus Louis Luca Lukas Magnus Malik Marco Mark Martin Mateo Max Mehmet Michael Miguel
    Milo Mohamed Moritz Musa Nico Niels Noah Olaf Oleg Oliver Omar Oscar Otto Pablo Pavel Pedro Peter Philip Pierre
    Rafael Raj Ramon Ravi Remy Rico Robert Robin Rohan Roman Ron Rudi Rui Sam Samir Santiago Sasha Sebastian Sergio
    Simon Stefan Sven Tariq Ted Theo Thomas Tim Tobias Tom Toni Tuan Uwe Viktor Vikram Vincent Walter Wei Willem
    William Xavier Yannick Yusuf Zane
""".split()

PRONOUN = {**{name: "she" for name in SHE}, **{name: "he" for name in HE}}
NAMES = case.Names(SHE + HE)

ANIMALS = case.Table("""
    ant badger bat bear beaver bee bird bunny camel cat chicken cow crab crow deer dog dolphin donkey dove duck eagle
    elephant ferret fish fox frog giraffe goat goose hamster hare hedgehog hen heron hippo horse kangaroo kitten koala
    lamb lion lizard lynx mole monkey moose mouse octopus otter owl panda parrot penguin pig pony puppy rabbit raccoon
    raven salmon seal sheep sloth snail snake sparrow spider squirrel stork swan tiger toad turtle walrus whale wolf
    wombat zebra
""".split())

CITIES = case.Names("""
    Accra Amsterdam Ankara Athens Bangkok Barcelona Basel Bergen Berlin Bern Boston Bremen Brussels Budapest Cairo
    Chicago Cologne Copenhagen Cusco Dakar Delhi Dresden Dublin Edinburgh Florence Geneva Genoa Graz Hamburg Hanoi
    Havana Helsinki Istanbul Kyoto Lagos Leipzig Lima Lisbon London Lyon Madrid Malmo Manila Melbourne Milan Montreal
    Munich Nairobi Naples Osaka Oslo Paris Porto Prague Quito Riga Rome Seoul Seville Sofia Stockholm Sydney Tallinn
    Tokyo Toronto Turin Utrecht Venice Vienna Warsaw Zagreb Zurich
""".split())

PROFESSIONS = case.Table("""
    actor architect artist astronaut baker barber builder carpenter chemist clerk cook dancer dentist doctor driver
    electrician engineer farmer fisher florist gardener guard guide hunter judge lawyer librarian mechanic miller
    miner musician nurse painter pilot plumber poet potter programmer sailor scientist shepherd singer smith soldier
    student tailor teacher waiter weaver writer
""".split())

COLOURS = case.Table("""
    amber beige black blue brown crimson cyan gold gray green indigo lilac magenta maroon mint navy olive orange
    pink purple red rose scarlet silver teal turquoise violet white yellow
""".split())

QUALITIES = case.Table("""
    big bold brave bright calm careful cheerful clever curious fast friendly funny gentle grumpy happy honest hungry
    kind lazy little lonely loud lucky merry noisy old patient polite proud quick quiet shy silly sleepy slow small
    smart stubborn sweet tall tiny tired wise witty young
""".split())

IRREGULAR = {"mouse": "mice", "goose": "geese", "fish": "fish", "sheep": "sheep", "deer": "deer", "wolf": "wolves",
             "salmon": "salmon", "igloo": "igloos", "piano": "pianos", "kangaroo": "kangaroos", "hippo": "hippos"}


def plural(noun):
    """The plural."""
    if noun in IRREGULAR:
        return IRREGULAR[noun]
    if noun.endswith(("s", "x", "ch", "sh", "o")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


# Syllables of invented names; some of the results are real names.
STARTS = """
    a ba be bo bra bri ca ce cla co cor da de di dro du e el fa fe fi flo fra ga ge gil gri ha he hel i il jo ju ka ke
    ki kor kra la le li lo lu ma me mi mo na ne ni no nu o or pa pe pi plu po qui ra re ri ro ru sa se si ska so sta su
    ta te ti to tra tri tu u ul va ve vi vo wa we wi xa ya ye yo za ze zi zo zor
""".split()
MIDDLES = """
    ba bi bo da de di do fa fi ga go ka ke ki ko la le li lo lu ma me mi mo na ne ni no nu pa po ra re ri ro ru sa se si
    so ta te ti to va ve vi vo xa za zi zo
""".split()
SHE_ENDS = "bella da dra ka la li lia lla lle mia na nna ra ria ssa ta tha va ya za".split()
HE_ENDS = """
    bo bu dor dox fin go gus k kan ko l lak lo m mir mo n ndo nk p po r rak rim rix s sk t tok tor vin x xo z zak
""".split()


# Results that are not allowed.
UNFIT = {"Sex", "Sexo", "Nazi", "Fuk", "Tit", "Anal", "Porno", "Pedo", "Homo", "Nego", "Negro", "Dildo"}


def invented(rng, held_out=False):
    """A name made of syllables, such as Zorvin or Mella; the model can only copy it."""
    while True:
        ends = SHE_ENDS if rng.random() < 0.5 else HE_ENDS
        middle = rng.choice(MIDDLES) if rng.random() < 0.35 else ""
        name = (rng.choice(STARTS) + middle + rng.choice(ends)).capitalize()
        if len(name) >= 3 and name not in UNFIT and case.held(name) == bool(held_out):
            return name


def person(rng, held_out=False, invented_share=0.3):
    """A given name, or an invented one."""
    return invented(rng, held_out) if rng.random() < invented_share else NAMES.pick(rng, held_out)


def people(rng, held_out, n, invented_share=0.3):
    """n different names."""
    out = []
    while len(out) < n:
        name = person(rng, held_out, invented_share)
        if name not in out:
            out.append(name)
    return out


def pronoun(name):
    """he or she. For a name that is not in the tables, its ending decides, which can be learnt."""
    known = PRONOUN.get(name)
    if known:
        return known
    return "she" if name.lower().endswith(("a", "i", "le")) else "he"
