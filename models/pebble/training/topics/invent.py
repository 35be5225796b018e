"""Values for objects and tools: words, numbers, dates, lists. Every generator is a
function of (rng, held_out); its values belong to that world by case.held, except sets
that are too small to be split (numbers up to 12, yes and no)."""

import re

from . import case, names

SMALL = 12  # Numbers up to this one occur in both worlds.
NUMBER_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
                "twelve"]

SURNAMES = case.Names("""
    Adler Baker Bishop Brook Castle Cole Cooper Cross Dale Dean Dover Ekman Fields Fisher Fox Frost Garcia Gray Haas
    Hall Hansen Hill Hunter Ito Jensen Keller Khan King Klein Kowalski Lang Lee Lind Lopez Marsh Meyer Miller Moore
    Moreau Nagy Novak Nowak Okafor Olsen Park Patel Perez Petrov Reed Rossi Rossler Sato Schmidt Silva Singh Stone
    Sutter Tanaka Toth Vogel Wagner Walker Wang Weber White Wolf Wood Yilmaz Young Zeller
""".split())
COUNTRIES = case.Names("""
    Argentina Australia Austria Belgium Brazil Bulgaria Canada Chile China Colombia Croatia Cuba Denmark Egypt Estonia
    Finland France Georgia Germany Ghana Greece Hungary Iceland India Indonesia Ireland Italy Japan Kenya Latvia Malta
    Mexico Morocco Nepal Norway Peru Poland Portugal Romania Serbia Slovakia Slovenia Spain Sweden Switzerland Turkey
    Uganda Ukraine Vietnam Wales
""".split())
ADJECTIVES = """
    Ancient Blue Broken Bright Clever Cold Crimson Dark Distant Empty Endless Final First Forgotten Frozen Gentle
    Golden Green Happy Hidden Hollow Honest Last Little Lonely Long Lost Lucky Misty Northern Old Paper Quiet Rainy
    Red Salty Secret Silent Silver Small Southern Strange Sunny Sweet Tall Tired Warm White Wild Winter Yellow Young
""".split()
NOUNS = """
    Apple Bakery Bell Bird Boat Book Bridge Castle City Clock Cloud Coast Dance Desert Dragon Dream Engine Farm Fire
    Forest Fox Garden Gate Ghost Harbour Heart Hill Horse House Island Journey Key King Lake Lamp Letter Light Machine
    Map Mill Mirror Moon Mountain Night Ocean Orchard Owl Piano Planet Queen Rain River Road Robot Rose Sea Shadow
    Ship Snow Song Star Station Stone Storm Story Street Summer Sun Teacher Tower Train Tree Valley Village Violin
    Voice Wall Water Whale Wind Window Winter Wolf Wood World Year
""".split()
LOWER_NOUNS = case.Table("""
    anchor axe bag ball barrel basket bell bench bike blanket bolt bottle bowl box brush bucket button cable candle
    card chair chain clock coat coin comb compass cup desk drum fan flag flute fork glove hammer hat helmet hook jar
    kettle key kite ladder lamp lantern lens map mat mirror mug nail needle paint pan pen pencil pillow pipe plate pot
    purse quilt rake ring rope ruler saddle saw scarf screw shelf shirt shoe shovel soap sock spoon stamp stool string
    table tape tent thread tin torch towel tray umbrella vase wagon watch wheel whistle wire
""".split())
FOODS = case.Table("""
    apples bananas beans beets bread butter cabbage carrots celery cheese cherries chocolate coconut coffee corn cream
    cucumber dates eggs figs flour garlic ginger grapes ham honey jam kale leeks lemon lentils lime mango milk mint
    mushrooms mustard noodles nuts oats oil olives onions oranges parsley pasta peaches pears peas pepper plums
    potatoes pumpkin quinoa radish raisins rice salt sesame spinach sugar tea thyme tofu tomatoes vanilla vinegar
    walnuts water yeast yogurt
""".split())
TAGS = case.Table("""
    active basic bright cheap classic clean cold common compact daily dark digital dry early easy famous fast fresh
    fragile free gentle handmade heavy huge indoor large late light local long loud modern narrow natural new noisy
    old open outdoor plain popular private public quick quiet rare round rough sharp short silent simple slow small
    smooth soft solid sour spicy square steep strong sturdy sweet tall thick thin tiny urgent useful vintage warm
    weekly wet wide wild wooden
""".split())
STREETS = "Street Road Lane Avenue Square Way Hill Park".split()

STARTS = "b bl br c ch cl cr d dr f fl fr g gl gr h j k kl kr l m n p pl pr qu r s sk sl sm sn sp st t tr v w z".split()
VOWELS = "a e i o u a e i o u ai ea ee oo ou".split()
ENDS = "b ck d ft g k l lk lm lt m mp n nd ng nk nt p r rk rm rn rt s sh sk st t th x z".split()


def of_world(rng, held_out, draw):
    """Calls draw(rng) until its result belongs to the world."""
    while True:
        value = draw(rng)
        if case.held(str(value)) == bool(held_out):
            return value


# Syllables that make bad words, and the name of the program.
UNWANTED = re.compile("ass|coc|coo|cu|dic|fag|fu|goo|ja|je|kik|kil|naz|ni|pis|poo|pu|rap|sex|shi|slu|spi|tard|ti|tw|"
                      "vug|wan")


def _syllables(rng):
    while True:
        out = _random_word(rng)
        if not UNWANTED.search(out):
            return out


def _random_word(rng):
    out = rng.choice(STARTS) + rng.choice(VOWELS)
    r = rng.random()
    if r < 0.45:
        return out + rng.choice(ENDS)
    if r < 0.9:
        return out + rng.choice(STARTS)[0] + rng.choice(VOWELS)[0] + (rng.choice(ENDS) if r < 0.65 else "")
    return out + rng.choice(ENDS) + rng.choice(STARTS)[0] + rng.choice(VOWELS)[0] + rng.choice(ENDS)


def word(rng, held_out):
    """A word that does not exist (most of the time), such as sprool."""
    return of_world(rng, held_out, _syllables)


def capital(rng, held_out):
    return of_world(rng, held_out, lambda rng: _syllables(rng).capitalize())


def integer(low, high):
    """A generator of whole numbers."""
    def draw(rng, held_out):
        value = rng.randint(low, high)
        for _ in range(200):
            if abs(value) <= SMALL or case.held(str(value)) == bool(held_out):
                break
            value = rng.randint(low, high)
        else:
            value = rng.randint(low, min(SMALL, high)) if low <= SMALL else value
        return value
    return draw


def decimal(low, high, digits=1):
    """A generator of decimal numbers that keep their last digit when printed."""
    scale = 10 ** digits

    def draw(rng, held_out):
        def one(rng):
            n = rng.randint(low * scale, high * scale)
            return (n + 1 if n % 10 == 0 else n) / scale
        return of_world(rng, held_out, one)
    return draw


def boolean(rng, held_out):
    return rng.random() < 0.5


def either(*options):
    """One of a few words, the same in both worlds."""
    def draw(rng, held_out):
        return rng.choice(options)
    return draw


def table(*items):
    """One item of a table that is split between the worlds."""
    return case.Table(items).pick


def several(generator, low=2, high=4):
    """A list of different values. If the held-out world has too few, values of training are added."""
    def draw(rng, held_out):
        out = []
        tries = 0
        wanted = rng.randint(low, high)
        while len(out) < wanted:
            tries += 1
            value = generator(rng, held_out if tries <= 12 else case.TRAINING)
            if value not in out:
                out.append(value)
            elif len(out) >= low:
                break
        return out
    return draw


def nested(**members):
    """A nested object."""
    def draw(rng, held_out):
        return {key: generator(rng, held_out) for key, generator in members.items()}
    return draw


def first_name(rng, held_out):
    return names.person(rng, held_out, 0.3)


def surname(rng, held_out):
    return SURNAMES.pick(rng, held_out) if rng.random() < 0.7 else names.invented(rng, held_out)


def full_name(rng, held_out):
    return f"{first_name(rng, held_out)} {surname(rng, held_out)}"


def some_name(rng, held_out):
    return full_name(rng, held_out) if rng.random() < 0.3 else first_name(rng, held_out)


def city(rng, held_out):
    return names.CITIES.pick(rng, held_out) if rng.random() < 0.75 else capital(rng, held_out)


def country(rng, held_out):
    return COUNTRIES.pick(rng, held_out) if rng.random() < 0.85 else capital(rng, held_out) + "land"


def colour(rng, held_out):
    return names.COLOURS.pick(rng, held_out) if rng.random() < 0.92 else word(rng, held_out)


def profession(rng, held_out):
    return names.PROFESSIONS.pick(rng, held_out)


def animal(rng, held_out):
    return names.ANIMALS.pick(rng, held_out)


def food(rng, held_out):
    return FOODS.pick(rng, held_out) if rng.random() < 0.9 else word(rng, held_out)


def tag(rng, held_out):
    return TAGS.pick(rng, held_out) if rng.random() < 0.8 else word(rng, held_out)


def thing(rng, held_out):
    return LOWER_NOUNS.pick(rng, held_out) if rng.random() < 0.7 else word(rng, held_out)


def title(rng, held_out):
    """A title of one to four words, sometimes with a word that does not exist."""
    def one(rng):
        r = rng.random()
        if r < 0.35:
            return f"The {rng.choice(ADJECTIVES)} {rng.choice(NOUNS)}"
        if r < 0.55:
            return f"{rng.choice(ADJECTIVES)} {rng.choice(NOUNS)}"
        if r < 0.70:
            return f"The {rng.choice(NOUNS)} of {_syllables(rng).capitalize()}"
        if r < 0.80:
            return f"{rng.choice(NOUNS)} of the {rng.choice(NOUNS)}"
        if r < 0.90:
            return _syllables(rng).capitalize()
        return f"{_syllables(rng).capitalize()} {rng.choice(NOUNS)}"
    return of_world(rng, held_out, one)


def date(rng, held_out):
    return of_world(rng, held_out,
                    lambda rng: f"{rng.randint(1950, 2035)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}")


def time(rng, held_out):
    return of_world(rng, held_out, lambda rng: f"{rng.randint(0, 23):02}:{5 * rng.randint(0, 11):02}")


def email(rng, held_out):
    def one(rng):
        user = rng.choice(names.SHE if rng.random() < 0.5 else names.HE).lower()
        middle = f".{_syllables(rng)}" if rng.random() < 0.4 else ""
        site = rng.choice(("example.com", "example.org", "mail.example", _syllables(rng) + ".com",
                           _syllables(rng) + ".net"))
        return f"{user}{middle}@{site}"
    return of_world(rng, held_out, one)


def phone(rng, held_out):
    return of_world(rng, held_out,
                    lambda rng: f"{rng.choice(('555', '0170', '020', '+49 30', '+1 555'))} {rng.randint(1000, 99999)}")


def street(rng, held_out):
    def one(rng):
        name = rng.choice(NOUNS) if rng.random() < 0.6 else _syllables(rng).capitalize()
        return f"{name} {rng.choice(STREETS)}" + (f" {rng.randint(1, 99)}" if rng.random() < 0.4 else "")
    return of_world(rng, held_out, one)


def code(rng, held_out):
    """An identifier such as A-173 or XK42."""
    def one(rng):
        letters = "".join(rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(rng.randint(1, 3)))
        return f"{letters}{rng.choice(('-', '-', '', '_'))}{rng.randint(1, 9999)}"
    return of_world(rng, held_out, one)


def version(rng, held_out):
    return of_world(rng, held_out, lambda rng: f"{rng.randint(0, 12)}.{rng.randint(0, 20)}.{rng.randint(0, 30)}")


def month(rng, held_out):
    return rng.choice(("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
                       "November", "December"))


def weekday(rng, held_out):
    return rng.choice(("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"))


def text_of(value):
    """A value as a person writes it."""
    if value is None:
        return "unknown"
    if value is True:
        return "yes"
    if value is False:
        return "no"
    if isinstance(value, list):
        return listed([text_of(item) for item in value])
    if isinstance(value, dict):
        return listed([f"{key} {text_of(item)}" for key, item in value.items()])
    return str(value)


def listed(parts, last=" and "):
    """a, b and c"""
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + last + parts[-1]
