"""The written tools of the topic "tools": their names, parameters and requests. In a request {city} stands for
the value of the parameter city, {loud:yes text|no text} for a boolean. A parameter that a request omits is not
given; if it is required, the model has to ask. Tools of the same group are never declared together, because a
request could fit both."""

from dataclasses import dataclass, field

from . import invent as v


@dataclass
class Param:
    name: str
    type: str
    description: str
    draw: object
    required: bool = True
    enum: tuple = ()


@dataclass
class Tool:
    name: str
    group: str
    description: str
    params: list
    asks: list
    missing: list = field(default_factory=list)
    result: dict = None  # Keys and generators of what it returns; None for an action
    answer: str = ""     # The sentence for it, with slots of both parameters and results


def _param(kind):
    def make(name, draw, description):
        return Param(name.rstrip("?"), kind, description, draw, not name.endswith("?"))
    return make


text, whole, number, flag, words = (_param(kind) for kind in ("string", "integer", "number", "boolean", "array"))


def enum(name, options, description):
    return Param(name.rstrip("?"), "string", description, v.either(*options), not name.endswith("?"), tuple(options))


NOTES = v.table(
    "I am late", "dinner is ready", "call me back", "the train is full", "see you at the station", "happy birthday",
    "I will be there soon",
    "bring some milk", "the key is under the mat", "we won the game", "the meeting is over", "please water the roses",
    "I am at home",
    "the parcel is here", "do not wait for me", "the soup is cold", "come to the garden", "I lost my hat",
    "it is raining here",
    "the door is open", "lunch at noon", "the bus is late", "good luck tomorrow", "thanks for the flowers",
    "the test is green",
    "the boat leaves at six", "my phone is broken", "we need more paper", "the cat is fine", "I found your glove",
    "feed the fish",
    "the lamp is out", "let us meet on Friday", "the tickets are paid", "the cake is for you", "all is well",
    "the road is closed",
    "the code works now", "buy two loaves of bread", "the concert was great")
TASKS = v.table(
    "buy milk", "call the dentist", "clean the desk", "pay the rent", "water the flowers", "write the report",
    "fix the bike", "wash the car",
    "read chapter two", "send the letter", "pack the bag", "sweep the floor", "feed the birds", "order new shoes",
    "book the hall", "mend the fence",
    "learn ten words", "bake a cake", "empty the bin", "charge the drill", "paint the shelf", "sort the photos",
    "visit the museum", "return the book",
    "tidy the attic", "cut the hedge", "print the map", "renew the passport", "check the oil", "iron the shirts")
SUBJECTS = v.table("holiday", "the invoice", "the new office", "lunch", "the garden party", "your order",
                   "the rehearsal", "the budget",
                   "the boat trip", "the exam", "a question", "the spring sale", "the broken window", "the school play",
                   "the race",
                   "our plan", "the wedding", "the old mill", "the next step", "the choir")
QUERIES = v.table("how to fold a paper boat", "best hiking shoes", "history of the bicycle", "cheap violins",
                  "how bees make honey", "round tables",
                  "oldest bridge in the world", "tide times", "how to whistle", "wooden toys", "sleep and health",
                  "deep sea fish",
                  "rules of cricket", "growing tomatoes", "northern lights", "steam engines", "learn to juggle",
                  "vintage radios",
                  "how glass is made", "mountain huts", "free chess lessons", "whale songs")
ROOMS = v.table("kitchen", "bedroom", "living room", "bathroom", "hall", "office", "garage", "cellar", "attic",
                "nursery", "dining room",
                "guest room", "study", "library", "workshop", "balcony")
LANGUAGES = v.table("German", "French", "Spanish", "Italian", "Dutch", "Polish", "Turkish", "Greek", "Japanese",
                    "Korean", "Arabic",
                    "Hindi", "Swedish", "Finnish", "Czech", "Danish", "Welsh", "Latin")
CURRENCIES = v.table("EUR", "USD", "GBP", "CHF", "JPY", "SEK", "NOK", "PLN", "CAD", "AUD", "INR", "BRL", "CZK", "DKK",
                     "TRY", "MXN")
CUISINES = v.table("Italian", "Indian", "Thai", "Greek", "Mexican", "French", "Turkish", "Chinese", "Korean", "Spanish",
                   "vegan", "Persian")
TEAMS = v.table("Red Lions", "Blue Hawks", "River Owls", "Iron Wolves", "Green Bears", "Night Foxes", "City Rovers",
                "Lake United",
                "Harbour Eleven", "Sun Devils", "North Stars", "Old Town", "Stone Bulls", "Silver Sharks")
UNITS = v.table("miles", "kilometres", "pounds", "kilograms", "inches", "metres", "feet", "litres", "gallons", "ounces",
                "grams", "yards")
FILES = v.table("notes.txt", "report.pdf", "budget.csv", "main.c", "photo.png", "readme.md", "data.json", "song.mp3",
                "plan.doc", "todo.txt",
                "index.html", "log.txt", "letter.odt", "map.svg", "setup.py", "Makefile", "video.mp4", "table.xls")
SERVERS = v.table("web1", "web2", "db1", "mail", "backup", "alpha", "beta", "cache3", "proxy", "build7", "node12",
                  "edge4", "api", "shop1")
SYMBOLS = v.table("VOLT", "NRDA", "KSTL", "BRM", "ZEPH", "PNT", "ORN", "TSSR", "FLCN", "MIR", "ASTR", "LMN", "DLT",
                  "CMT", "VRO", "SLS")
DISHES = v.table("pancakes", "lasagne", "goulash", "ramen", "paella", "pizza", "curry", "apple pie", "onion soup",
                 "falafel", "risotto",
                 "dumplings", "quiche", "chili", "waffles", "tacos")
BUILDS = v.table("release", "nightly", "docs", "unit tests", "linux", "windows", "android", "website", "firmware",
                 "installer", "staging")
CHESS = v.table("e2e4", "d2d4", "g1f3", "c7c5", "e7e5", "b1c3", "f1b5", "d7d6", "g8f6", "a2a4", "h7h6", "c2c4", "b8c6",
                "f7f5")
ENTITIES = v.table("customers", "orders", "invoices", "products", "users", "books", "trips", "rooms", "members",
                   "songs")
SPECIES = v.table("rose", "fern", "cactus", "basil", "orchid", "palm", "tomato", "mint", "ivy", "lily", "bonsai",
                  "tulip")
CONDITIONS = v.table("sunny", "cloudy", "rainy", "windy", "foggy", "snowy", "stormy", "clear", "hazy", "mild")
PERCENT = v.integer(0, 100)
MINUTES = v.integer(1, 90)


def branch(rng, held_out):
    return v.word(rng, held_out) if rng.random() < 0.6 else f"{v.word(rng, held_out)}-{v.word(rng, held_out)}"


def expression(rng, held_out):
    """Arithmetic without parentheses, with numbers of the world."""
    draw = v.integer(2, 999)
    parts = [str(draw(rng, held_out))]
    for _ in range(rng.randint(1, 2)):
        parts += [rng.choice("+-*/"), str(draw(rng, held_out))]
    return " ".join(parts)


def an(noun):
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def picture(rng, held_out):
    return f"{an(v.colour(rng, held_out))} {v.animal(rng, held_out)} with {an(v.thing(rng, held_out))}"


def link(rng, held_out):
    return f"https://{v.word(rng, held_out)}.example/{v.word(rng, held_out)}"


def foreign(rng, held_out):
    return f"{v.word(rng, held_out)} {v.word(rng, held_out)}"


def secret(rng, held_out):
    return f"{v.word(rng, held_out)}{rng.randint(100, 999)}{v.capital(rng, held_out)}"


DOSE = v.integer(1, 500)


def dose(rng, held_out):
    return f"{DOSE(rng, held_out)} mg"


def split(requests):
    """Requests are written with " / " between them, over several lines."""
    return [part.strip() for part in " ".join(requests.split("\n")).split(" / ") if part.strip()]


def tool(name, group, description, params, asks, missing="", result=None, answer=""):
    return Tool(name, group, description, params, split(asks), split(missing), result, answer)
