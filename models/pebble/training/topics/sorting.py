"""Short lists, mostly of numbers, sometimes of words: sorted in either order, or their
largest or smallest item."""

from topics.case import Case, Table, casual, held, one_of, system, wrap

WORDS = Table(
    "apple apricot banana bean beet berry bread butter cabbage cake carrot cheese cherry corn cream date egg fig fish "
    "flour garlic grape honey jam juice kale leek lemon lentil lime mango melon milk mint mushroom nut oat olive onion "
    "orange parsley pasta pea peach pear pepper pie pizza plum potato pumpkin radish rice salad salt soup spinach sugar "
    "tea tomato turnip vanilla walnut water yeast zucchini ant ape bat bear bee bird bison bull camel cat cow crab crow deer "
    "dog donkey dove duck eagle eel elk ferret finch fox frog goat goose gull hare hawk hen horse jackal koala lamb lion lizard "
    "lynx mole moose mouse mule newt otter owl ox panda parrot pig pony rabbit rat raven seal shark sheep snail snake spider "
    "squid swan tiger toad turtle viper wasp whale wolf worm yak zebra amber black blue bronze brown cyan gold gray green "
    "indigo ivory khaki lilac magenta maroon navy pink purple red silver teal violet white yellow anchor arrow axe bag ball "
    "basket bell belt bench boat book bottle bowl box brick bridge broom brush bucket button candle card chair clock cloud coat "
    "coin comb cup curtain desk dish door drum fan fence flag flute fork glass glove guitar hammer harp hat helmet hook house "
    "iron jacket jar kettle key kite knife ladder lamp leaf letter lock map mask mirror nail needle net oven paddle paint pan "
    "paper pen pencil piano pillow pipe plate pot purse quilt rake ring road robe roof rope ruler saddle scarf shelf ship shirt "
    "shoe sock sofa spoon stone stool string table tent tower towel toy train tray truck vase wagon wall watch wheel whistle "
    "window wire wood zipper river rock sand sea sky snow star storm sun tree valley wave wind".split())

UP = [
    "Sort these numbers: {x}", "Sort: {x}", "sort {x}", "Sort the list {x}.", "Sort the numbers {x}.", "Please sort {x}.",
    "Can you sort {x}?", "Could you sort these for me: {x}", "Put these numbers in order: {x}", "Put {x} in order.",
    "Order these numbers: {x}", "Order the list {x}.", "Arrange {x} in order.", "Arrange these numbers: {x}",
    "Sort {x} from smallest to largest.", "Sort these numbers from small to large: {x}", "Sort {x} in ascending order.",
    "Sort ascending: {x}", "{x} sorted?", "{x} in ascending order, please.", "Sort from lowest to highest: {x}",
    "What is {x} in sorted order?", "Give me {x} in order.", "I need these numbers sorted: {x}", "Here is a list: {x}. Sort it.",
    "Sort this list: {x}", "sort this: {x}", "Sort these: {x}", "List these from smallest to biggest: {x}",
    "Order from least to greatest: {x}", "Rank these from low to high: {x}", "numbers: {x}. sort them", "Bring {x} into order.",
    "My numbers are {x}. Please put them in order.", "How would you sort {x}?", "Sort the following: {x}",
    "Sort the following numbers: {x}", "Sort the following list in ascending order: {x}",
    "Sort these from smallest to largest: {x}", "Put {x} in order from smallest to largest.", "{x}, from smallest to largest",
    "Order {x} from smallest to largest.", "Arrange from smallest to largest: {x}", "Sort from smallest to biggest: {x}",
    "Sort {x} from small to big.", "Sort {x} from low to high.", "Sort {x} from lowest to highest.", "Sort {x} from least to greatest.",
    "Sort these numbers in ascending order: {x}", "Sort the numbers {x} from the smallest to the largest.", "Order these, smallest first: {x}",
    "Sort {x}, smallest first.", "Sort {x} with the smallest number first.", "Sort {x} upwards.", "Sort in increasing order: {x}",
    "Arrange {x} in increasing order.", "{x} from low to high", "Can you order {x} for me?", "order {x}", "arrange {x}",
    "Could you put these numbers in order? {x}", "These numbers are mixed up: {x}. Sort them, please.", "Put in ascending order: {x}",
    "I have {x}. Sort them from smallest to largest.", "sort these numbers please: {x}", "sorted: {x}", "sort numbers {x}",
]
DOWN = [
    "Sort {x} from largest to smallest.", "Sort these numbers from large to small: {x}", "Sort {x} in descending order.",
    "Sort descending: {x}", "{x} in descending order, please.", "Sort from highest to lowest: {x}",
    "Put these numbers in order, largest first: {x}", "Order from greatest to least: {x}", "Sort these in reverse order: {x}",
    "List these from biggest to smallest: {x}", "Rank these from high to low: {x}", "Sort {x}, biggest first.",
    "Arrange {x} in descending order.", "Sort the following numbers in descending order: {x}", "Sort {x} in decreasing order.",
    "sort descending {x}", "Sort downwards: {x}", "Please sort {x}, with the largest number first.",
    "Sort these from largest to smallest: {x}", "Put {x} in order from largest to smallest.", "{x}, from largest to smallest",
    "Order {x} from largest to smallest.", "Arrange from largest to smallest: {x}", "Sort from biggest to smallest: {x}",
    "Sort {x} from big to small.", "Sort {x} from high to low.", "Sort {x} from highest to lowest.", "Sort {x} from greatest to least.",
    "Sort these numbers in descending order: {x}", "Sort the numbers {x} from the largest to the smallest.", "Order these, largest first: {x}",
    "Sort {x}, largest first.", "Sort {x} with the biggest number first.", "Sort in decreasing order: {x}", "{x} from high to low",
    "Put in descending order: {x}", "I have {x}. Sort them from largest to smallest.", "Sort {x} in reverse.", "Sort {x} backwards.",
    "Can you sort {x} from largest to smallest?", "Please put {x} in descending order.",
]
LARGEST = ["What is the largest of {x}?", "Which is the largest number: {x}", "Largest of {x}?", "What is the maximum of {x}?",
           "Find the biggest number in {x}.", "max of {x}", "Which of these is the biggest: {x}", "What is the highest of {x}?",
           "Which number is the largest: {x}", "What is the biggest number in {x}?", "largest of {x}", "biggest: {x}", "maximum of {x}",
           "What's the largest number in {x}?", "Find the largest of {x}.", "Which is bigger: {x}", "Tell me the largest of {x}.",
           "Find the maximum of {x}.", "Which is the greatest of {x}?", "Pick the largest number: {x}"]
SMALLEST = ["What is the smallest of {x}?", "Which is the smallest number: {x}", "Smallest of {x}?", "What is the minimum of {x}?",
            "Find the smallest number in {x}.", "min of {x}", "Which of these is the smallest: {x}", "What is the lowest of {x}?",
            "Which number is the smallest: {x}", "What is the smallest number in {x}?", "smallest of {x}", "smallest: {x}", "minimum of {x}",
            "What's the smallest number in {x}?", "Find the smallest of {x}.", "Which is smaller: {x}", "Tell me the smallest of {x}.",
            "Find the minimum of {x}.", "Which is the least of {x}?", "Pick the smallest number: {x}"]
WORDS_UP = [
    "Sort these words: {x}", "Sort these words alphabetically: {x}", "Put these words in alphabetical order: {x}",
    "Sort alphabetically: {x}", "Order these words from A to Z: {x}", "sort {x}", "Sort: {x}", "Please sort {x}.", "Can you sort {x}?",
    "Alphabetize {x}.", "Arrange these words in alphabetical order: {x}", "Sort this list: {x}", "Sort the words {x}.",
    "Put {x} in alphabetical order.", "{x} in alphabetical order, please.", "Sort the following words: {x}",
    "Sort these words from A to Z: {x}", "Sort {x} from A to Z.", "{x} from A to Z", "Sort {x} alphabetically.", "Sort {x} by alphabet.",
    "Order {x} alphabetically.", "In alphabetical order: {x}", "Order these words: {x}", "Arrange {x} alphabetically.",
    "Bring these words into alphabetical order: {x}", "alphabetical order: {x}", "Can you alphabetize {x}?",
]
WORDS_DOWN = ["Sort these words from Z to A: {x}", "Sort these words in reverse alphabetical order: {x}",
              "Put {x} in reverse alphabetical order.", "Order from Z to A: {x}", "Sort {x} from Z to A.",
              "Sort from Z to A: {x}", "Arrange these words from Z to A: {x}", "{x} from Z to A", "Put these words in order from Z to A: {x}",
              "Sort {x} in reverse alphabetical order.", "Sort the words {x} backwards, from Z to A."]
TURN_ROUND = ["Now the other way round.", "And in reverse?", "Now in descending order.", "Now from largest to smallest.",
              "Reverse it.", "And the other way round?", "Now backwards."]
WHICH_LARGEST = ["Which is the largest?", "What is the largest of them?", "And the biggest?", "What is the maximum?"]
WHICH_SMALLEST = ["Which is the smallest?", "What is the smallest of them?", "And the smallest?", "What is the minimum?"]


UP, DOWN, LARGEST, SMALLEST, WORDS_UP, WORDS_DOWN = map(Table, (UP, DOWN, LARGEST, SMALLEST, WORDS_UP, WORDS_DOWN))


def listed(rng, items, words=False):
    """How a person writes a list."""
    texts = [str(i) for i in items]
    r = rng.random()
    if r < 0.62:
        return ", ".join(texts)
    if r < 0.72:
        return " ".join(texts)
    if r < 0.80:
        return ",".join(texts)
    if r < 0.90:
        return ", ".join(texts[:-1]) + " and " + texts[-1]
    if words or r < 0.93:
        return "; ".join(texts)
    return "[" + ", ".join(texts) + "]"


def numbers(rng, held_out):
    n = rng.choice([2, 3, 3, 4, 4, 5, 5, 5, 6, 6, 7, 8])
    r = rng.random()
    top = 10 if r < 0.1 else 100 if r < 0.85 else 1000
    while True:
        items = [rng.randrange(top) for _ in range(n)] if rng.random() < 0.2 else rng.sample(range(top), min(n, top))
        if held(str(items)) == bool(held_out):
            return items


def reply_of(items):
    return ", ".join(str(i) for i in items)


def sample(rng, held_out):
    message = system(rng, held_out)
    turns = [("system", message)] if message else []
    if rng.random() < 0.25:
        items = WORDS.sample(rng, held_out, rng.choice([2, 3, 3, 4, 4, 5, 6]))
        down = rng.random() < 0.15
        core = (WORDS_DOWN if down else WORDS_UP).pick(rng, held_out)
        ordered = sorted(items, reverse=down)
        text, reply = core.format(x=listed(rng, items, words=True)), reply_of(ordered)
        turns += [("user", casual(rng, wrap(rng, text), lower=False, slips=False)), ("model", reply)]
        return Case(turns, {"kind": "exact", "answer": reply})

    items = numbers(rng, held_out)
    text_of = listed(rng, items)
    r = rng.random()
    if r < 0.12:
        largest = r < 0.06
        core = (LARGEST if largest else SMALLEST).pick(rng, held_out)
        reply = str(max(items) if largest else min(items))
        turns += [("user", casual(rng, wrap(rng, core.format(x=text_of)))), ("model", reply)]
        return Case(turns, {"kind": "exact", "answer": reply})
    down = r < 0.36
    ordered = sorted(items, reverse=down)
    core = (DOWN if down else UP).pick(rng, held_out)
    reply = reply_of(ordered)
    turns += [("user", casual(rng, wrap(rng, core.format(x=text_of)))), ("model", reply)]
    r = rng.random()
    if r < 0.10:
        if not down:
            reply = reply_of(ordered[::-1])
            turns += [("user", rng.choice(TURN_ROUND)), ("model", reply)]
    elif r < 0.16:
        largest = one_of(rng, True, False)
        reply = str(max(items) if largest else min(items))
        turns += [("user", rng.choice(WHICH_LARGEST if largest else WHICH_SMALLEST)), ("model", reply)]
    return Case(turns, {"kind": "exact", "answer": reply})
