"""The words of the stories besides the plots: who, where, what, requests for a story, its
beginning and end, and questions about it."""

from . import case, names

# Kinds of heroes that are not animals, with the pronoun of those that have one.
KINDS = {"girl": "she", "boy": "he", "princess": "she", "prince": "he", "king": "he", "queen": "she", "witch": "she",
         "wizard": "he", "grandmother": "she", "grandfather": "he", "fairy": "she", "knight": None, "dragon": None,
         "robot": None, "ghost": None, "giant": None, "dwarf": None, "elf": None, "pirate": None, "troll": None,
         "unicorn": None, "monster": None, "alien": None, "mermaid": "she", "goblin": None, "child": None,
         "snow leopard": None, "dinosaur": None, "cloud": None, "star": None, "tree": None, "little train": None,
         "teddy bear": None, "scarecrow": None, "puppet": None, "computer": None, "thief": None, "captain": None}
PEOPLE = case.Table(list(KINDS) + [p for p in names.PROFESSIONS.world[False] + names.PROFESSIONS.world[True]])
SPECIES = case.Table(names.ANIMALS.world[False] + names.ANIMALS.world[True])

# Places, and whether they have a sky and a ground.
SPOTS = [
    ("in a forest", True), ("in a small village", True), ("on an island", True), ("in the mountains", True),
    ("on a farm", True), ("by the sea", True), ("at the beach", True), ("in a garden", True), ("in a park", True),
    ("on a hill", True), ("by a lake", True), ("by a river", True), ("in the desert", True), ("in a valley", True),
    ("at the edge of a wood", True), ("in the jungle", True), ("near the North Pole", True), ("in a meadow", True),
    ("on a mountain", True), ("in an old mill", True), ("behind the hills", True), ("in a castle", False),
    ("on the moon", False), ("in space", False), ("in a big city", False), ("in a school", False),
    ("in a library", False), ("on a ship", False), ("in a lighthouse", True), ("in a cave", False),
    ("in a kingdom far away", True), ("in a museum", False), ("on a train", False), ("in a circus", False),
    ("in a tower", False), ("under the sea", False), ("in a bakery", False), ("in a toy shop", False),
    ("in a zoo", True), ("in a kitchen", False), ("in a cloud castle", False), ("in a tree house", True),
    ("in a harbour", True), ("in an old house", False), ("in a submarine", False), ("on a distant planet", False),
    ("in a snowy land", True), ("in an enchanted forest", True), ("in a hotel", False), ("in a theater", False),
]


class Places(case.Names):
    """Places that every world has, and the cities of each."""

    def __init__(self):
        self.world = {h: SPOTS + [(f"in {city}", False) for city in names.CITIES.world[h]] for h in (False, True)}


PLACES = Places()

THINGS = case.Table("""
    key kite map lantern drum book ring hat bell flute box coin ball lamp mirror shell scarf clock telescope whistle
    compass blanket feather cup spoon basket button guitar violin wagon sled boat umbrella candle vase teapot crown
    doll bicycle puzzle backpack necklace notebook pencil medal pot marble rope bucket trumpet balloon pillow camera
    radio suitcase ladder glove toy stone mug painting watch horn bowl bracelet
""".split())
HOW_THINGS = case.Table("""
    red blue green yellow white black silver golden old new small tiny big wooden magic shiny strange precious round
    pretty colorful heavy beautiful favorite purple orange striped painted rusty secret glowing
""".split())

FILL = {
    "day": ["one day", "one morning", "one sunny day", "one afternoon", "one evening", "one rainy day",
            "on a Sunday morning", "one cold morning", "on a warm day in May", "one windy day", "early one morning",
            "on the first day of spring"],
    "soon": ["soon", "after a while", "a little later", "not long after", "before long"],
    "at_last": ["at last", "in the end", "finally", "after a long time"],
    "long": ["for an hour", "all morning", "until noon", "for a long time", "the whole afternoon", "for hours",
             "until the sun went down"],
}

ONE_KIND = ["once upon a time, there was {introA} who lived {place}.", "{place} lived {introA}.",
            "long ago, {introA} lived {place}.", "there once was {introA} who lived {place}.",
            "once there was {introA}, and {he} lived {place}.", "this is the story of {introA} who lived {place}."]
ONE_NAME = ["once upon a time, {introA} lived {place}.", "{place} lived {introA}.",
            "long ago, {introA} lived {place}.", "{introA} lived {place}, in a house with a red door.",
            "{introA} lived {place} and knew everyone there.", "not long ago, {introA} lived {place}."]
MORE = ["{all} were good friends and lived {place}.", "once upon a time, {all} lived {place}.",
        "{place} lived {all}, who were the best of friends.", "long ago, there were {n} friends {place}: {all}.",
        "{all} lived {place} and spent every day together.", "everyone {place} knew the {n} friends: {all}."]

CHARACTER = [
    "{A} liked warm tea, loud songs and long naps.", "everybody liked {A}, because {he} always had time for a joke.",
    "{A} laughed easily and asked a hundred questions a day.",
    "every morning, {A} greeted the sun with a little dance.",
    "{A} was not rich, but {he} always had a smile to give.", "{A} collected stones, stories and funny words.",
    "nobody could whistle as badly as {A}, and nobody enjoyed it more.", "{A} had a good heart and big dreams.",
    "{A} liked pancakes more than anything.", "most days were quiet there, and {A} liked it that way.",
    "{A} was never bored, for there was always something to discover.",
    "people said that {A} was a little different, and that was true.",
    "in the evenings, {A} looked at the stars and hummed.", "{A} loved to be outside, even in the rain."]

THIRD = ["{C} came along, too, and carried the bag.", "{C} was there as well and wanted to help.",
         "\"I am with you,\" said {C}, who was always ready for anything.", "{C} watched it all and was worried.",
         "{C} brought some bread and said, \"First we eat, then we think.\"", "\"We will find a way,\" said {C}."]

FUNNY = ["at that moment, {A} sneezed so loudly that a hat fell into the soup.",
         "a duck walked by, looked at it all and shook its head.",
         "{A} bowed, slipped on a banana and bowed again.",
         "somewhere a frog laughed so hard that it fell into a bucket.",
         "and because {A} was so excited, {he} put both feet into one shoe.",
         "a sheep saw it and told the joke to all the other sheep."]

CLOSERS = {
    "any": ["and that was the best day of the year.", "they still tell this story {place}.",
            "and if you ever come by, you can hear {A} laugh.", "and they all lived happily ever after.",
            "that evening, the stars shone a little brighter than before.", "{A} never forgot that day.",
            "and so a bad day became a good one.", "since then, {A} and {B} have been inseparable.",
            "and everything was well.", "the end of the day was warm and golden.",
            "and {A} wrote it all down, so that it would not be lost.", "that night, {A} slept better than ever."],
    "sad": ["some days are sad, and that is all right.", "what we loved stays with us.",
            "and when the wind is soft, {A} still remembers it.", "a good memory is a small light in the dark.",
            "sometimes a story ends with a tear."],
    "happy": ["and they laughed and danced until late at night.",
              "there was cake for everyone, and {A} was as happy as could be.",
              "and they all lived happily ever after.", "never before had {A} been so happy."],
    "funny": ["and they laugh about it to this day.", "even the chickens had to laugh.",
              "and whenever somebody mentions it, {A} begins to giggle.",
              "{A} laughed so much that {he} got hiccups for three days."],
    "bedtime": ["then {A} yawned, closed {his} eyes and slept until the morning, and now you can sleep, too.",
                "the moon smiled, and soon everyone was asleep, so good night.",
                "good night, {A}, and good night to you, too.",
                "all was quiet, and {A} dreamed of something soft and warm."],
    "spooky": ["but sometimes, at midnight, a floor board still creaks.",
               "and from then on, {A} always kept a lamp beside the bed."],
    "adventure": ["and {A} was already thinking about the next adventure.", "what a journey that had been."],
    "magic": ["and now and then, a little magic still glitters {place}.",
              "and nobody knows where the magic came from."],
    "mystery": ["and so the mystery was solved.", "now there was no riddle any more, only a good story."],
    "friendship": ["and so they learned that a good friend is worth more than gold.",
                   "{A} learned that with a friend, everything is easier.",
                   "that is what friendship means."],
    "courage": ["{A} learned that to be brave is to be afraid and to do it anyway.",
                "and everyone saw that courage can be very quiet.",
                "from then on, {A} was known for {his} courage."],
    "honesty": ["and {A} learned that the truth is always the shorter way.",
                "so {A} saw that honesty makes the heart light.",
                "since then, {A} has always told the truth."],
    "patience": ["and {A} learned that patience makes good things possible.",
                 "so it is with patience: slow steps arrive, too.",
                 "since then, {A} has been a lot more patient."],
    "kindness": ["and {A} learned that kindness always comes back.", "a little kindness had changed everything.",
                 "for kindness costs nothing and gives a lot."],
    "sharing": ["and they learned that joy grows when it is shared.", "for sharing makes everything taste better."],
    "helping": ["and {A} learned that it is good to help and good to ask for help.",
                "for help is the best present of all."],
    "teamwork": ["and they learned that together they were strong.", "what one cannot do, two can do together."],
    "trust": ["and they learned that trust grows slowly, like a tree.",
              "from then on, they trusted each other in everything."],
    "curiosity": ["and {A} learned that asking questions is the beginning of everything.",
                  "for the curious, the world is full of wonders."],
}

NEXT = [
    ["the next day, {A} baked a big cake to say thank you to {B}.",
     "they ate it together and told each other the whole story again.",
     "from then on, they met every Sunday."],
    ["a week later, {A} and {B} met again.", "\"Do you remember?\" asked {A}, and both of them had to laugh.",
     "then they made a plan for a new adventure, and this time they took a bigger bag."],
    ["the news spread quickly, and soon everyone wanted to hear about it.",
     "{A} told it ten times, and each time it became a little longer.",
     "{B} only smiled and never corrected a word."],
    ["in the winter, {B} became ill and had to stay in bed.",
     "{A} brought hot soup every day and told the best jokes.",
     "when the snow was gone, {B} was well again, and they danced in the sun."],
    ["after that, {A} wanted to know more about the world.",
     "{he} packed a bag and asked, \"{Bv}, will you come with me?\"",
     "they left the next morning and sang the whole way."],
    ["one night, a stranger knocked at the door of {A} and asked for a place to sleep.",
     "{A} made a bed, and {B} cooked some soup.",
     "in the morning, the stranger was gone, but on the table lay a golden leaf."],
    ["the next morning, it rained so much that nobody could go out.",
     "so {A} and {B} sat by the window and painted pictures of that day.",
     "the pictures still hang on the wall."],
    ["a year later, {A} gave a party to remember it.", "{B} came first and brought a basket full of plums.",
     "they played and sang, and at midnight they watched the stars."],
]

ABOUT = ["about {who}"] * 8 + ["of {who}", "on {who}", "with {who}", "with {who}"]
FRAMES = case.Table([
    "tell me a {how}story {about}{rest}.", "write a {how}story {about}{rest}.",
    "can you tell me a {how}story {about}{rest}?",
    "please tell me a {how}story {about}{rest}.", "please write a {how}story {about}{rest}.",
    "could you write a {how}story {about}{rest}?",
    "i want a {how}story {about}{rest}.", "i would like to hear a {how}story {about}{rest}.",
    "i'd like a {how}story {about}{rest}, please.",
    "make up a {how}story {about}{rest}.", "invent a {how}story {about}{rest}.", "{how}story {about}{rest}",
    "a {how}story {about}{rest}, please.", "give me a {how}story {about}{rest}.",
    "do you know a {how}story {about}{rest}?",
    "would you tell me a {how}story {about}{rest}?", "create a {how}story {about}{rest}.",
    "let's hear a {how}story {about}{rest}.",
    "tell a {how}story {about}{rest}.", "write me a {how}story {about}{rest}.", "need a {how}story {about}{rest}",
    "my daughter wants a {how}story {about}{rest}.", "my son would like a {how}story {about}{rest}.",
    "read me a {how}story {about}{rest}.",
    "can i have a {how}story {about}{rest}?", "could you tell us a {how}story {about}{rest}?",
    "tell us a {how}story {about}{rest}.",
    "compose a {how}story {about}{rest}.", "think of a {how}story {about}{rest}.",
    "the kids want to hear a {how}story {about}{rest}.",
    "i need a {how}story {about}{rest} for my children.", "come up with a {how}story {about}{rest}.",
    "tell me something {about}{rest}, a {how}story.",
    "how about a {how}story {about}{rest}?", "what about a {how}story {about}{rest}?", "a {how}tale {about}{rest}.",
    "tell me a {how}tale {about}{rest}.", "write a {how}fairy tale {about}{rest}.",
    "tell me a {how}fairy tale {about}{rest}.",
    "can you write a {how}tale {about}{rest}?", "make a {how}story {about}{rest}.",
    "will you tell me a {how}story {about}{rest}?",
    "i am bored, tell me a {how}story {about}{rest}.", "show me a {how}story {about}{rest}.",
    "can you make up a {how}story {about}{rest}?",
    "are you able to write a {how}story {about}{rest}?", "story please: {who}{rest}", "{who}{rest}, {how}story",
    "{how}story: {who}{rest}",
    "once upon a time there was {who}{rest}...", "{who}{rest}. tell me a {how}story!",
    "write something about {who}{rest}, a {how}story please.",
    "i want to hear what happened to {who}{rest}, as a {how}story.", "please make a {how}story for me {about}{rest}.",
    "entertain me with a {how}story {about}{rest}.", "start a {how}story {about}{rest}.",
    "you know stories? tell one {about}{rest}.",
    "it is late. tell me a {how}story {about}{rest}.", "can u tell me a {how}story {about}{rest}",
    "got a {how}story {about}{rest}?",
    "generate a {how}story {about}{rest}.", "produce a {how}story {about}{rest}.", "say a {how}story {about}{rest}.",
    "please narrate a {how}story {about}{rest}.", "draft a {how}story {about}{rest}.",
])
BARE = case.Table([
    "tell me a {how}story.", "write a {how}story.", "can you tell me a {how}story?", "please tell me a {how}story.",
    "a {how}story, please.",
    "i want to hear a {how}story.", "tell us a {how}story.", "{how}story", "do you know a {how}story?",
    "make up a {how}story.",
    "could you write a {how}story?", "tell me any {how}story.", "i would like a {how}story.", "give me a {how}story.",
    "write a {how}story for my kids.", "can you write stories?", "can you tell stories? tell me one.", "story time!",
    "tell a {how}tale.", "i am bored. tell me a {how}story.", "how about a {how}story?",
    "surprise me with a {how}story.",
])

# (tag, words before "story", sentences behind); tags in ANYTHING fit every plot.
MOODS = {
    "funny": (["funny ", "silly "], ["make it funny.", "it should be funny.", "i want to laugh."]),
    "sad": (["sad "], ["make it sad.", "it should be sad.", "it should have a sad ending."]),
    "happy": (["happy ", "cheerful "], ["it should have a happy ending.", "make it a happy one.",
                                        "with a happy end, please."]),
    "bedtime": (["bedtime ", "good night "], ["it is for bedtime.", "i cannot sleep.",
        "it is for my child before sleep."]),
    "spooky": (["spooky ", "scary "], ["make it a bit spooky.", "it should be scary."]),
    "adventure": (["adventure ", "exciting "], ["it should be an adventure.", "make it exciting."]),
    "magic": (["magic ", "magical "], ["there should be magic in it."]),
    "mystery": (["mystery ", "mysterious "], ["it should be a mystery."]),
    "children": (["children's ", "kids "], ["it is for children.", "it is for a child of five.",
        "for kids, please."]),
    "nice": (["nice ", "short ", "little ", "good ", "lovely ", "beautiful ", "cute ", "small ", "simple ", "new ",
              "sweet "],
             ["keep it short.", "use simple words.", "not too long, please.", "surprise me."]),
}
ANYTHING = ["children", "nice", "nice", "nice", "bedtime", "happy"]
THEMES = ["friendship", "courage", "honesty", "patience", "kindness", "sharing", "helping", "teamwork", "trust",
          "curiosity"]
THEME_TAILS = [" about {t}", " and {t}", ". it should be about {t}", ". the moral should be {t}", ". theme: {t}",
               " that teaches {t}", " with a lesson about {t}", ". i want my children to learn about {t}"]
PLACE_TAILS = [" {p}", " {p}", " {p}", ". it takes place {p}", ". it should happen {p}", " set {p}", ", living {p}"]
THING_TAILS = [" and {o}", " and {o}", " with {o}", ". {o} should be in it", ". include {o}", ". put {o} into it",
               ", and {o}"]

SHORT_WISH = ["in three sentences", "very short", "extremely short", "only three sentences", "in 3 sentences"]
ASK_SHORTER = case.Table([
    "make it shorter.", "a shorter one.", "shorter, please.", "can you make it shorter?", "that is too long.",
    "shorter", "too long",
    "please tell it in three sentences.", "the short version, please.", "can you sum it up?", "summarize the story.",
    "now in three sentences.", "tell it again, but shorter.", "could you shorten it?", "give me a short version."])
ASK_LONGER = case.Table(["make it longer.", "longer, please.", "can you make it longer?", "too short",
                         "that is too short.",
                         "tell it again, but longer.", "a longer version, please.", "longer"])
ASK_HAPPY = case.Table([
    "now with a happy ending.", "can it have a happy ending?", "with a happy end, please.",
    "please give it a happy ending.",
    "i want a happy ending!", "make the ending happy.", "that is sad. tell it with a happy end.",
    "change the ending to a happy one.",
    "happy ending please", "could the end be happier?"])
ASK_ANOTHER = case.Table([
    "another one.", "one more.", "tell me another one.", "another story, please.", "more!", "again!",
    "one more story!", "next one",
    "tell me a different one.", "a new one, please.", "can you tell another one?", "do you know another one?",
    "and another story?",
    "i want another story.", "nice! another one, please.", "a different story with the same heroes.",
    "give me one more."])
ASK_NEXT = case.Table([
    "continue the story.", "continue.", "go on.", "what happened next?", "and then?", "then what?",
    "please continue.", "keep going.",
    "how does it go on?", "what happens after that?", "tell me more.", "go on, please.", "and what happened then?",
    "more of it, please.",
    "write the next part.", "what did they do then?"])
ASK_NEW_NAME = case.Table([
    "call the hero {new} instead.", "now with {new} instead of {old}.", "change {old} to {new}.",
    "replace {old} by {new}.",
    "can you tell it with {new} instead of {old}?", "same story, but with {new} instead of {old}.",
    "please rename {old} to {new}.",
    "use the name {new} instead of {old}.", "the same with {new} instead of {old}, please."])
ASK_HELPER = case.Table([
    "who helped {a}?", "and who helped {a}?", "who was it that helped {a}?", "who gave {a} a hand?",
    "by whom was {a} helped?",
    "tell me, who helped {a}?", "which friend helped {a}?", "who came to help {a}?"])
ASK_WHERE = case.Table(["where did {a} live?", "where does {a} live?", "where was that?",
                        "in which place did {a} live?",
                        "where does the story take place?", "where is {a} at home?", "where did it happen?"])
ASK_NAME = case.Table(["what was {his} name?", "what was the name of the {kind}?", "what is the {kind} called?",
                       "how was the {kind} called?",
                       "who was the {kind}?", "the {kind}'s name?", "remind me, what was the name of the {kind}?",
                       "what is the name of the {kind}?"])
ASK_HERO = case.Table(["who is the story about?", "who was the hero?", "what is the hero called?",
                       "who is the main character?",
                       "what was the name of the hero?"])
